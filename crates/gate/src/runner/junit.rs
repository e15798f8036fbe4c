//! JUnit XML: test cases with what became of them, in suites that may be nested.
//!
//! The counts in the attributes of suites are left alone: several runners get them wrong, the test cases are what ran.

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};

use super::{
    ids::Ids,
    report::{ReportError, TestReport},
    tally::{Figures, Kind},
};

/// Deepest nesting of elements.
const DEPTH_CAP: usize = 64;

pub(super) fn read(bytes: &[u8]) -> Result<TestReport, ReportError> {
    let text = String::from_utf8_lossy(bytes);
    let mut reader = Reader::from_str(&text);
    let mut report = Report::default();
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
struct Report {
    depth: usize,
    has_suite: bool,
    /// The test case that is being read: its id and what became of it.
    case: Option<(String, Kind)>,
    figures: Figures,
    ids: Ids,
}

impl Report {
    fn start(&mut self, element: &BytesStart) -> Result<(), ReportError> {
        match element.local_name().as_ref() {
            "testsuites" | "testsuite" => self.has_suite = true,
            "testcase" => self.case = Some((case_id(element)?, Kind::Passed)),
            "failure" | "error" => self.became(Kind::Failed),
            "skipped" => {
                let is_expected = attribute(element, "type")?.is_some_and(|kind| kind == "pytest.xfail");
                self.became(if is_expected { Kind::Expected } else { Kind::Skipped });
            }
            _ => {}
        }
        Ok(())
    }

    fn became(&mut self, kind: Kind) {
        if let Some((_, known)) = &mut self.case
            && *known != Kind::Failed
        {
            *known = kind;
        }
    }

    fn end(&mut self, name: &str) {
        if name == "testcase"
            && let Some((id, kind)) = self.case.take()
        {
            self.figures.add(kind, 1);
            self.ids.add(&id, kind);
        }
    }
}

/// `class::name`, as far as there is a class.
fn case_id(element: &BytesStart) -> Result<String, ReportError> {
    let name = attribute(element, "name")?.unwrap_or_default();
    let class = attribute(element, "classname")?.filter(|class| !class.is_empty());
    Ok(match class {
        Some(class) => format!("{class}::{name}"),
        None => name,
    })
}

fn attribute(element: &BytesStart, name: &str) -> Result<Option<String>, ReportError> {
    let Some(attribute) = element.try_get_attribute(name).map_err(xml)? else {
        return Ok(None);
    };
    // Only the five entities of XML itself are known: any other is an error.
    let value = attribute.normalized_value(XmlVersion::default()).map_err(xml)?;
    Ok(Some(value.into_owned()))
}

fn xml(error: impl std::fmt::Display) -> ReportError {
    ReportError::Xml(error.to_string())
}
