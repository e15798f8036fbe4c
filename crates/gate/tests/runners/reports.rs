//! Reports in files: JUnit XML and TAP.

use std::{fs, path::Path};

use ralph_gate::runner::{ReportError, read_report};

use super::{counts, names_all};

#[test]
fn junit_reports_of_runners_are_read() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports");
    for (file, expected, id) in [
        ("bun.xml", [3, 1, 2, 0], "more.test.js::fails"),
        ("deno.xml", [4, 1, 1, 0], "./more_test.ts::fails"),
        ("mocha.xml", [2, 1, 1, 0], "more::fails"),
        ("nextest.xml", [2, 1, 0, 0], "sums::tests::adds"),
        ("node.xml", [2, 1, 1, 1], "test::fails"),
        ("perl.tap", [0, 1, 1, 1], "fails"),
        ("phpunit.xml", [2, 3, 2, 0], "MoreTest::testFails"),
        ("pytest.xml", [2, 3, 1, 1], "tests.test_sums.Sums::test_breaks"),
        ("surefire.xml", [0, 2, 1, 0], "MoreTest::breaks"),
        ("vitest.xml", [3, 1, 2, 0], "more.test.js::fails"),
    ] {
        let report =
            read_report(&fs::read(directory.join(file)).unwrap()).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(counts(&report), expected, "{file}");
        assert_eq!(report.failed[0], id, "{file}");
        assert_eq!((names_all(&report), report.inconsistent), (true, None), "{file}");
    }
}

#[test]
fn nested_suites_are_one_report() {
    let report = read_report(
        br#"<?xml version="1.0"?>
        <testsuites tests="99"><testsuite name="a"><testsuite name="b">
        <testcase classname="A" name="x &lt;1&gt;"/>
        <testcase classname="A" name="y"><system-out><![CDATA[<testcase name="z"/>]]></system-out></testcase>
        </testsuite><testcase name="w"><error/><failure/></testcase></testsuite></testsuites>"#,
    )
    .unwrap();
    assert_eq!(counts(&report), [2, 1, 0, 0]);
    assert_eq!(report.passed, ["A::x <1>", "A::y"]);
    assert_eq!(report.failed, ["w"]);
}

#[test]
fn a_report_without_tests_has_run_none() {
    for text in [
        "<testsuites/>",
        "<testsuite tests='0'></testsuite>",
        "TAP version 13\n1..0 # SKIP nothing to test\n",
    ] {
        assert_eq!(read_report(text.as_bytes()).unwrap().counts.ran(), 0, "{text}");
    }
}

#[test]
fn entities_are_refused() {
    let bomb = br#"<?xml version="1.0"?><!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>
        <testsuite><testcase name="&b;"/></testsuite>"#;
    assert_eq!(read_report(bomb), Err(ReportError::Entities));
    let undeclared = br#"<testsuite><testcase name="&b;"/></testsuite>"#;
    assert!(matches!(read_report(undeclared), Err(ReportError::Xml(_))));
}

#[test]
fn what_is_no_report_is_refused() {
    for text in ["<html></html>", "", "ok then\n", "not ok\n", "<a/>"] {
        assert_eq!(read_report(text.as_bytes()), Err(ReportError::Unknown), "{text}");
    }
    for text in [
        "<testsuite>",
        "<testsuite><testcase></testsuite>",
        "<testsuite name='a' name='b'><testcase name='c'",
    ] {
        assert!(
            matches!(read_report(text.as_bytes()), Err(ReportError::Xml(_))),
            "{text}"
        );
    }
    let deep = "<testsuite>".repeat(1000);
    assert_eq!(read_report(deep.as_bytes()), Err(ReportError::TooDeep));
    assert_eq!(read_report(&vec![b' '; (64 << 20) + 1]), Err(ReportError::TooLarge));
}

#[test]
fn a_report_that_is_cut_anywhere_is_an_error_or_smaller() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reports");
    for entry in fs::read_dir(directory).unwrap() {
        let bytes = fs::read(entry.unwrap().path()).unwrap();
        let whole = read_report(&bytes).unwrap();
        for end in 0..bytes.len() {
            if let Ok(report) = read_report(&bytes[..end]) {
                assert!(report.counts.ran() <= whole.counts.ran());
            }
        }
    }
}

#[test]
fn a_stream_that_ends_before_its_plan_is_inconsistent() {
    for text in [
        "1..3\nok 1\nok 2\n",
        "TAP version 14\nok 1 - a\nBail out! no database\n1..1\n",
    ] {
        assert!(read_report(text.as_bytes()).unwrap().inconsistent.is_some(), "{text}");
    }
    let escaped = read_report(b"1..2\nok 1 - C \\# skip\nnot ok 2 - b # TODO later\n").unwrap();
    assert_eq!(counts(&escaped), [1, 0, 0, 1]);
}
