//! How a failure has to look, whatever its cause (R6.1), and whether it is the one that is due.

use contextwire_proto::Reason;
use contextwire_proto::reason::DOMAIN;
use prost::Message;
use tonic::Status;
use tonic_types::pb;
use tonic_types::{ErrorDetails, StatusExt};

use crate::check::{Checked, Verdict, broken, ensure};

const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// A failure of an engine, read strictly.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub reason: Reason,
    /// Everything that it says.
    pub details: ErrorDetails,
}

impl Refused {
    /// Reads a status that has to be the engine's own.
    ///
    /// # Errors
    /// When it breaks a rule of failures.
    pub fn read(status: &Status) -> Result<Self, Verdict> {
        let said = format!("{:?} `{}`", status.code(), cut(status.message()));
        let kinds = detail_types(status)?;
        let infos = kinds.iter().filter(|kind| *kind == ERROR_INFO).count();
        ensure(infos == 1, || {
            format!("{said} carries {infos} ErrorInfo, not exactly one")
        })?;
        let details = status.get_error_details();
        let Some(info) = details.error_info() else {
            return broken(format!("{said} carries an ErrorInfo that cannot be read"));
        };
        ensure(info.domain == DOMAIN, || {
            format!(
                "the domain of the ErrorInfo is `{}`, not `{DOMAIN}`",
                info.domain
            )
        })?;
        let Some(reason) = Reason::from_name(&info.reason) else {
            return broken(format!("`{}` is no reason of this protocol", info.reason));
        };
        ensure(status.code() == reason.code(), || {
            format!(
                "{} comes as {:?}, not as {:?}",
                reason.name(),
                status.code(),
                reason.code()
            )
        })?;
        let retries = kinds.iter().filter(|kind| *kind == RETRY_INFO).count();
        let due = usize::from(reason.retry_delay().is_some());
        ensure(retries == due, || {
            format!("{} carries {retries} RetryInfo, not {due}", reason.name())
        })?;
        ensure(status.message().len() <= 512, || {
            format!(
                "the text has {} bytes, more than 512",
                status.message().len()
            )
        })?;
        ensure(status.details().len() <= 4096, || {
            format!(
                "the details have {} bytes, more than 4096",
                status.details().len()
            )
        })?;
        Ok(Self { reason, details })
    }

    /// Paths of the fields at fault.
    pub fn paths(&self) -> Vec<String> {
        let bad = self.details.bad_request();
        let violations = bad.map(|bad| bad.field_violations.iter());
        violations
            .into_iter()
            .flatten()
            .map(|violation| violation.field.clone())
            .collect()
    }

    /// A variable of the text.
    pub fn variable(&self, name: &str) -> Option<String> {
        let info = self.details.error_info()?;
        info.metadata.get(name).cloned()
    }
}

fn cut(text: &str) -> String {
    text.chars().take(120).collect()
}

fn detail_types(status: &Status) -> Result<Vec<String>, Verdict> {
    let Ok(details) = pb::Status::decode(status.details()) else {
        return broken("the details of the status cannot be decoded");
    };
    Ok(details
        .details
        .into_iter()
        .map(|any| any.type_url)
        .collect())
}

/// The failure has to be one of these reasons.
///
/// # Errors
/// When it succeeded, or failed otherwise.
pub fn refused_as<T>(answer: Result<T, Status>, due: &[Reason]) -> Result<Refused, Verdict> {
    let names = || {
        due.iter()
            .map(|it| it.name())
            .collect::<Vec<_>>()
            .join(" or ")
    };
    let Err(status) = answer else {
        return broken(format!("the call succeeded, {} is due", names()));
    };
    let refused = Refused::read(&status)?;
    if due.contains(&refused.reason) {
        return Ok(refused);
    }
    broken(format!(
        "{} where {} is due",
        refused.reason.name(),
        names()
    ))
}

/// The answer has to be a success.
///
/// # Errors
/// When it is a status.
pub fn accepted<T>(answer: Result<T, Status>, what: &str) -> Result<T, Verdict> {
    answer.or_else(|status| {
        let text = cut(status.message());
        broken(format!(
            "{what} is refused with {:?}: {text}",
            status.code()
        ))
    })
}

/// The answer may be a success or a well-formed failure of the request, nothing that would count
/// against the engine.
///
/// # Errors
/// When it is an engine failure, or malformed.
pub fn accepted_or_refused<T>(answer: Result<T, Status>, what: &str) -> Checked {
    let Err(status) = answer else {
        return Ok(());
    };
    let refused = Refused::read(&status)?;
    ensure(refused.reason == Reason::InvalidRequest, || {
        format!("{what} ends in {}", refused.reason.name())
    })
}
