//! Claims, questions and reports in the last message of an agent.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_plan::claims;

fuzz_target!(|text: &str| {
    for place in [claims::StatusPlace::Message, claims::StatusPlace::LastLines] {
        _ = claims::status(text, place);
        _ = claims::self_report(text, place);
        _ = claims::review_answer(text, place);
    }
    let reported = claims::reported(text);
    assert!(reported.len() <= text.len());
    assert!(!claims::final_promise(text, "DONE-0123abcd") || text.contains("DONE-0123abcd"));
    assert!(!claims::last_line_promise(text, "DONE-0123abcd") || text.contains("DONE-0123abcd"));
    if let Some(question) = claims::final_question(text) {
        assert!(text.contains(question));
    }
    _ = claims::finding_place(text);
});
