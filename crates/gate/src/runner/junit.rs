//! JUnit XML: test cases with their results, in suites that may be nested.
//!
//! The counts in the attributes of suites are ignored, because several runners get them wrong; the test cases are
//! counted.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::{
    ids::Ids,
    report::{ReportError, TestReport},
    tally::{CountKind, Figures},
};

/// Deepest nesting of elements.
const DEPTH_CAP: usize = 64;

pub(super) fn read(bytes: &[u8]) -> Result<TestReport, ReportError> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    let mut report = JunitReport::default();
    loop {
        match reader.read_event().map_err(xml)? {
            Event::Start(element) => {
                report.start(&element)?;
                report.depth += 1;
                if report.depth > DEPTH_CAP {
                    return Err(ReportError::TooDeep);
                }
            }
            Event::Empty(element) => {
                report.start(&element)?;
                report.end(element.local_name().as_ref());
            }
            Event::End(element) => {
                report.depth = report.depth.saturating_sub(1);
                report.end(element.local_name().as_ref());
            }
            Event::DocType(_) => return Err(ReportError::Entities),
            Event::Eof if report.depth > 0 => {
                return Err(ReportError::Xml("it ends before its elements do".to_owned()));
            }
            Event::Eof if !report.has_suite => return Err(ReportError::Unknown),
            Event::Eof => return Ok(TestReport::new("junit", &report.figures, &report.ids, None)),
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::GeneralRef(_) => {}
        }
    }
}

#[derive(Default)]
struct JunitReport {
    depth: usize,
    has_suite: bool,
    /// The current test case: its id and result.
    case: Option<(String, CountKind)>,
    is_todo: bool,
    figures: Figures,
    ids: Ids,
}

impl JunitReport {
    fn start(&mut self, element: &BytesStart) -> Result<(), ReportError> {
        match element.local_name().as_ref() {
            "testsuites" | "testsuite" => self.has_suite = true,
            "testcase" => {
                self.case = Some((case_id(element)?, CountKind::Passed));
                self.is_todo = false;
            }
            "failure" | "error" => self.became(CountKind::Failed),
            "skipped" => match attribute(element, "type")?.as_deref() {
                Some("pytest.xfail") => self.became(CountKind::Expected),
                // A `todo` test of Node.js has run, and may have failed.
                Some("todo") => self.is_todo = true,
                Some(_) | None => self.became(CountKind::Skipped),
            },
            _ => {}
        }
        Ok(())
    }

    fn became(&mut self, kind: CountKind) {
        if let Some((_, known)) = &mut self.case
            && *known != CountKind::Failed
        {
            *known = kind;
        }
    }

    fn end(&mut self, name: &str) {
        if name == "testcase"
            && let Some((id, kind)) = self.case.take()
        {
            let kind = if self.is_todo { CountKind::Expected } else { kind };
            self.figures.add(kind, 1);
            self.ids.add(&id, kind);
        }
    }
}

/// Returns `class::name`; bun has no class for some tests, but a file.
fn case_id(element: &BytesStart) -> Result<String, ReportError> {
    let name = attribute(element, "name")?.unwrap_or_default();
    let not_empty = |text: &String| !text.is_empty();
    let class = attribute(element, "classname")?.filter(not_empty);
    let place = match class {
        Some(class) => Some(class),
        None => attribute(element, "file")?.filter(not_empty),
    };
    Ok(match place {
        Some(place) => format!("{place}::{name}"),
        None => name,
    })
}

fn attribute(element: &BytesStart, name: &str) -> Result<Option<String>, ReportError> {
    let Some(attribute) = element.try_get_attribute(name).map_err(xml)? else {
        return Ok(None);
    };
    // Only XML's five predefined entities are known; any other is an error.
    let value = attribute.normalized_value(XmlVersion::default()).map_err(xml)?;
    Ok(Some(value.into_owned()))
}

fn xml(error: impl std::fmt::Display) -> ReportError {
    ReportError::Xml(error.to_string())
}
