//! What each side must know, and what a call may therefore cost.

use contextwire_engine::{Site, Transcript, TranscriptSync};
use contextwire_proto::limits::MIRROR_STATES;
use contextwire_proto::sync::List;

use super::cost::{self, Cost};

/// Why a call costs what it costs, or why it is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Nobody knows anything of the list: all of it goes, after one request.
    Fresh,
    /// The engine has this very list.
    Unchanged,
    /// The engine has what the host compares with: so many messages go.
    Changed(u64),
    /// The host compares with nothing and the engine has this very list.
    HostForgot,
    /// The host compares with nothing: after one request the engine's own state is what it starts
    /// from.
    HostForgotAndWentOn,
    /// The engine lost what the host compares with: what went out crossed the request for more.
    EngineForgot,
    /// The engine keeps no mirror.
    Full,
    /// Nobody serves at the address.
    Down,
}

/// What a call may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forecast {
    pub(super) why: Why,
    /// What its lists cost.
    pub(super) cost: Cost,
    /// Requests for a list, at most.
    pub(super) requests: u64,
}

/// What the engine's side holds of the one session.
#[derive(Debug, Default)]
pub(super) struct Held {
    view: Vec<Entry>,
    log: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    state: Transcript,
    /// Arrived at the same time as its neighbour: either may be the newer one.
    beside: bool,
}

impl Held {
    fn of(&self, list: List) -> &Vec<Entry> {
        match list {
            List::View => &self.view,
            List::Log => &self.log,
        }
    }

    /// The engine has this list now, as its newest.
    pub(super) fn take(&mut self, list: List, state: Transcript, beside: bool) {
        let entries = match list {
            List::View => &mut self.view,
            List::Log => &mut self.log,
        };
        entries.retain(|entry| !state.starts_with(&entry.state.state()));
        entries.insert(0, Entry { state, beside });
        entries.truncate(MIRROR_STATES);
    }

    /// Whether the engine has this list for certain.
    fn has(&self, list: List, state: &Transcript, beside: bool) -> bool {
        let entries = self.of(list).iter().enumerate();
        entries
            .filter(|(at, entry)| {
                at + usize::from(entry.beside) + usize::from(beside) < MIRROR_STATES
            })
            .any(|(_, entry)| entry.state.starts_with(&state.state()))
    }

    /// The longest beginning of `new` that the engine offers for certain.
    fn offered(&self, list: List, new: &Transcript, beside: bool) -> Transcript {
        let newest = self
            .of(list)
            .first()
            .filter(|entry| !entry.beside && !beside);
        let Some(Entry { state, .. }) = newest else {
            return Transcript::new();
        };
        let shared = state.common_prefix(new);
        let steps = std::iter::once(0).chain((0..usize::BITS - 1).map(|power| 1 << power));
        let lengths = steps.map_while(|step| state.len().checked_sub(step));
        let longest = lengths.filter(|len| *len <= shared).max();
        new.prefix(longest.unwrap_or_default())
    }
}

/// What a host remembers that the engine acknowledged, newest first.
#[derive(Debug, Default)]
pub(super) struct Book(Vec<(List, Site, Transcript)>);

impl Book {
    /// What an update starts from: the same site's last state, else the newest.
    fn base(&self, list: List, site: Site) -> Option<&Transcript> {
        let of_list = || self.0.iter().filter(|(of, ..)| *of == list);
        let of_site = of_list().find(|(_, from, _)| *from == site);
        of_site
            .or_else(|| of_list().next())
            .map(|(.., state)| state)
    }

    /// The engine has this list. Where it continues what another site sent last, that site goes on
    /// from here as well.
    pub(super) fn acknowledge(&mut self, list: List, site: Site, state: Transcript) {
        self.0.retain(|(of, from, _)| (*of, *from) != (list, site));
        for (of, _, older) in &mut self.0 {
            if *of == list && state.starts_with(&older.state()) {
                *older = state.clone();
            }
        }
        self.0.insert(0, (list, site, state));
    }
}

/// A list that a hook carries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried<'a> {
    pub(super) list: List,
    pub(super) site: Site,
    pub(super) new: &'a Transcript,
    /// Another call is under way.
    pub(super) beside: bool,
}

/// What it takes to bring a list that a hook carries to the engine.
pub(super) fn carried(
    held: &Held,
    book: &Book,
    sync: TranscriptSync,
    Carried {
        list,
        site,
        new,
        beside,
    }: Carried<'_>,
) -> Forecast {
    let all = cost::whole(new);
    let forecast = |why, cost, requests| Forecast {
        why,
        cost,
        requests,
    };
    if sync == TranscriptSync::Full {
        return forecast(Why::Full, all, 0);
    }
    let Some(base) = book.base(list, site) else {
        if held.has(list, new, beside) {
            return forecast(Why::HostForgot, Cost::default(), 0);
        }
        if held.of(list).is_empty() {
            // A call beside this one may bring the same messages first.
            let least = if beside { 0 } else { all.least };
            return forecast(Why::Fresh, Cost { least, ..all }, 1);
        }
        let known = held.offered(list, new, beside);
        let cost = cost::between(&known, new);
        return forecast(Why::HostForgotAndWentOn, Cost { least: 0, ..cost }, 1);
    };
    let change = cost::between(base, new);
    if !held.has(list, base, beside) {
        // What goes out first may all be on its way when the request arrives.
        let alone = held.of(list).is_empty() && !beside;
        let cost = Cost {
            messages: all.messages,
            most: change.most + all.most,
            least: if alone { all.least } else { 0 },
        };
        return forecast(Why::EngineForgot, cost, 1);
    }
    let why = if base == new {
        Why::Unchanged
    } else {
        Why::Changed(change.messages)
    };
    forecast(why, change, 0)
}

/// What it takes to bring the log to an engine that asks for it in a hook that carries a view.
pub(super) fn asked(held: &Held, book: &Book, log: &Transcript) -> Forecast {
    let forecast = |why, cost: Cost, requests| Forecast {
        why,
        cost: Cost { least: 0, ..cost },
        requests,
    };
    if held.has(List::Log, log, false) {
        return forecast(Why::Unchanged, Cost::default(), 0);
    }
    let base = book.base(List::Log, Site::default());
    if let Some((newest, base)) = held.log.first().zip(base)
        && newest.state == *base
    {
        let change = cost::between(base, log);
        return forecast(Why::Changed(change.messages), change, 1);
    }
    forecast(Why::Fresh, cost::whole(log), 1)
}
