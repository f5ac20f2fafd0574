//! HOST-SEMANTICS 3.3 and 3.7: what a record says of a failure.

use super::*;

#[tokio::test]
async fn c021_an_engine_that_fails_when_asked_what_it_is_is_barred_like_a_factory_that_throws() {
    let host = Host::new([fails(CallError::Undescribed("no such file".to_owned()))]);
    let (request, _) = an_assemble();
    let served = host.call(request.clone()).await.unwrap();
    assert_eq!(served.reason.as_ref().unwrap().code(), "ENGINE_FAILURE");
    let record = host.record();
    assert_eq!(
        (record.operation.as_str(), record.reason.as_str()),
        ("factory", "no such file")
    );
    assert_eq!(code(&host.call(request).await), "QUARANTINED");
}

#[tokio::test]
async fn c063_the_reason_is_the_engines_text_whatever_it_threw() {
    for text in ["", "42", "[object Object]", r#"{"code":7}"#] {
        let host = Host::new([fails(failure(text))]);
        host.call(AfterTurn::default()).await.unwrap();
        assert_eq!(host.record().reason, text);
    }
}

#[tokio::test]
async fn c025_a_description_that_cannot_be_read_bars_the_engine() {
    let problem = "Describe: engine is missing";
    let host = Host::new([fails(CallError::Malformed(problem.to_owned()))]);
    assert_eq!(host.ingest_in("s").await, "CONTRACT_VIOLATION");
    let record = host.record();
    assert_eq!(
        (record.operation.as_str(), record.reason.as_str()),
        ("contract-validation", problem)
    );
}

#[test]
fn c159_under_a_lease_nobody_goes_by_a_record() {
    for (policy, info) in [(Policy::Guarded, "legacy"), (Policy::Lease, "own")] {
        let options = ClientOptions {
            policy,
            quarantine: QuarantineOptions {
                list: Quarantines::new(),
                ..QuarantineOptions::default()
            },
            ..ClientOptions::default()
        };
        let bar = Bar::new("slot".to_owned(), &options);
        let record = QuarantineRecord::new("slot", "assemble", "bug");
        options.quarantine.list.bar(record);
        assert_eq!(bar.record().is_some(), policy == Policy::Guarded);
        let own = EngineInfo::new("own", "Own", "1");
        assert_eq!(bar.active_info(Some(own)).unwrap().id, info);
    }
}
