//! Parses the bytes of a plan file to its tasks.

use ralph_core::event::{PlanSnapshot, PlanTask, clip};
use ralph_text::Position;

use super::{
    checks::find_conflicts,
    error::PlanError,
    kind::{ALL_HEADINGS_CAP_BYTES, ALL_TEXTS_CAP_BYTES, NESTED_CAP, PlanKind, TASKS_CAP, UNREAD_CAP},
    markdown,
    order::resolve_order,
    prd,
    reading::{FoundTasks, ParsedPlan},
    shape::nested_on_a_line,
    steps::{form_steps, tell_apart},
};

/// Maximum size of a task's text, in bytes, including the mark of a cut.
const TEXT_CAP_BYTES: usize = 1024;
/// Maximum size of a heading, in bytes.
const HEADING_CAP_BYTES: usize = 256;
/// JSON overhead of a heading, which counts towards [`ALL_HEADINGS_CAP_BYTES`].
const AROUND_HEADING_BYTES: usize = r#","heading":"""#.len();
/// JSON overhead of a step, which counts towards [`ALL_TEXTS_CAP_BYTES`].
const AROUND_STEP_BYTES: usize = r#"{"text":"","done":false,"line":123456},"#.len();
/// JSON overhead of a setting, which counts towards [`ALL_TEXTS_CAP_BYTES`].
const AROUND_SETTING_BYTES: usize = r#","settings":{"adapter":""}"#.len();

/// Parses the bytes of a plan; a UTF-8 byte order mark is skipped.
///
/// # Errors
/// [`PlanError::NotUtf8`], and those of `read`.
pub fn read_bytes(kind: PlanKind, bytes: &[u8]) -> Result<ParsedPlan, PlanError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => read(kind, text),
        Err(_) => Err(not_utf8(bytes)),
    }
}

/// The error for bytes that are not UTF-8, with the position of the first invalid one.
pub(super) fn not_utf8(bytes: &[u8]) -> PlanError {
    let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    PlanError::NotUtf8 {
        position: Position::at_offset(valid, valid.len()),
        utf16: bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]),
    }
}

/// Parses a plan's tasks in file order. The result has at least one.
///
/// # Errors
/// [`PlanError`] if there is no task, or if a `prd.json` is malformed.
fn read(kind: PlanKind, text: &str) -> Result<ParsedPlan, PlanError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(PlanError::Empty { kind });
    }
    let mut found = match kind {
        PlanKind::Markdown => {
            let items = nested_on_a_line(text);
            if items > NESTED_CAP {
                return Err(PlanError::TooNested { items });
            }
            markdown::tasks(text)
        }
        PlanKind::Prd => prd::tasks(text)?,
    };
    if found.unread.len() > UNREAD_CAP {
        return Err(PlanError::TooManyUnread {
            lines: found.unread.len(),
        });
    }
    if found.tasks.is_empty() {
        let is_unread = found.unread.iter().any(|unread| !unread.why.is_chosen());
        return Err(match kind {
            PlanKind::Markdown if !is_unread && !markdown::has_prose(text) => PlanError::NoTaskYet,
            PlanKind::Markdown | PlanKind::Prd => PlanError::NoTasks {
                kind,
                unread: found.unread,
            },
        });
    }
    if found.tasks.len() > TASKS_CAP {
        return Err(PlanError::TooMany {
            tasks: found.tasks.len(),
        });
    }
    form_steps(&mut found);
    tell_apart(&mut found);
    let FoundTasks {
        tasks,
        mistakes,
        remarks,
        story_state,
        places,
        unread,
        sources: _,
        headings: _,
    } = found;
    let mut reading = ParsedPlan {
        plan: PlanSnapshot { tasks: bounded(tasks)? },
        mistakes,
        remarks,
        story_state,
        places,
        unread,
    };
    find_conflicts(&mut reading);
    resolve_order(&mut reading);
    let others = reading.plan.tasks.iter().flat_map(|task| &task.settings.after);
    let bytes: usize = others.map(|text| bytes_in_json(text)).sum();
    if bytes > ALL_TEXTS_CAP_BYTES {
        return Err(PlanError::TooMuchText { bytes });
    }
    Ok(reading)
}

/// As [`read_bytes`], ignoring mistakes in the settings of tasks.
///
/// # Errors
/// As [`read_bytes`].
pub fn parse_bytes(kind: PlanKind, bytes: &[u8]) -> Result<PlanSnapshot, PlanError> {
    read_bytes(kind, bytes).map(|reading| reading.plan)
}

/// As [`parse_bytes`], for a text.
#[cfg(test)]
pub(super) fn parse(kind: PlanKind, text: &str) -> Result<PlanSnapshot, PlanError> {
    read(kind, text).map(|reading| reading.plan)
}

/// Cuts long texts, and rejects a plan that is too large for the records of a journal.
fn bounded(mut tasks: Vec<PlanTask>) -> Result<Vec<PlanTask>, PlanError> {
    if tasks.len() > TASKS_CAP {
        return Err(PlanError::TooMany { tasks: tasks.len() });
    }
    let (mut bytes, mut headings) = (0, 0);
    for task in &mut tasks {
        if task.text.len() > TEXT_CAP_BYTES {
            task.text = cut(&task.text);
        }
        bytes += bytes_in_json(&task.text);
        for step in &mut task.steps {
            if step.text.len() > TEXT_CAP_BYTES {
                step.text = cut(&step.text);
            }
            bytes += bytes_in_json(&step.text) + AROUND_STEP_BYTES;
        }
        let settings = &task.settings;
        for value in settings
            .adapter
            .iter()
            .chain(&settings.model)
            .chain(&settings.check)
            .chain(&settings.only)
            .chain(&settings.after)
        {
            bytes += bytes_in_json(value) + AROUND_SETTING_BYTES;
        }
        if let Some(heading) = &mut task.heading {
            *heading = clip(heading, HEADING_CAP_BYTES);
            headings += bytes_in_json(heading) + AROUND_HEADING_BYTES;
        }
    }
    if bytes > ALL_TEXTS_CAP_BYTES {
        return Err(PlanError::TooMuchText { bytes });
    }
    if headings > ALL_HEADINGS_CAP_BYTES {
        // Headings are for display only.
        tasks.iter_mut().for_each(|task| task.heading = None);
    }
    Ok(tasks)
}

/// Size of a text in JSON. Quotation marks and backslashes take two bytes; there are no control characters.
fn bytes_in_json(text: &str) -> usize {
    let escapes = text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count();
    text.len() + escapes
}

/// Cuts a long text and appends a hash of the whole: a task is identified by its text, so one with a different end must
/// remain different.
fn cut(text: &str) -> String {
    let hash = fnv1a(text.as_bytes());
    let mark = format!(" {hash:016x}");
    clip(text, TEXT_CAP_BYTES - mark.len()) + &mark
}

/// FNV-1a, 64 bits. Unlike the standard library's hasher, it gives the same result in every run of ralph.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_of_headings_and_comments_describes_no_work() {
        for text in [
            "# Plan\n",
            "# Plan\n\n<!-- - [ ] an example -->\n",
            "<!--\nnotes\n-->\n\n---\n",
        ] {
            assert_eq!(parse(PlanKind::Markdown, text), Err(PlanError::NoTaskYet), "{text}");
        }
        for text in ["# Plan\n\nMake it fast.\n", "- make it fast\n", "```\nmake\n```\n"] {
            let kind = PlanKind::Markdown;
            assert!(matches!(parse(kind, text), Err(PlanError::NoTasks { .. })), "{text}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let plan = parse_bytes(PlanKind::Markdown, b"\xef\xbb\xbf- [ ] one\n").unwrap();
        assert_eq!(plan.tasks[0].text, "one");
        assert_eq!(plan.tasks[0].line, 1);
        let plan = parse_bytes(PlanKind::Prd, b"\xef\xbb\xbf[{\"title\":\"one\"}]").unwrap();
        assert_eq!(plan.tasks[0].text, "one");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_placed() {
        let error = parse_bytes(PlanKind::Markdown, b"- [ ] one\n- [ ] \xc3\xa4\xff").unwrap_err();
        assert_eq!(error.to_string(), "line 2, column 8: not UTF-8");
    }

    #[test]
    fn utf16_is_recognised() {
        let error = parse_bytes(PlanKind::Markdown, b"\xff\xfe-\0 \0[\0").unwrap_err();
        assert!(error.hint().contains("UTF-16"), "{}", error.hint());
    }

    #[test]
    fn an_empty_plan_says_so() {
        for text in ["", " \r\n\t\n", "\u{feff}"] {
            assert_eq!(
                parse(PlanKind::Markdown, text).unwrap_err().to_string(),
                "the plan is empty"
            );
            assert_eq!(parse(PlanKind::Prd, text).unwrap_err().to_string(), "the plan is empty");
        }
    }

    #[test]
    fn a_plan_without_tasks_says_how_to_write_one() {
        let error = parse(PlanKind::Markdown, "# Plan\n\n- just a list\n").unwrap_err();
        assert_eq!(error.to_string(), "no task found");
        assert!(error.hint().contains("- [ ] "), "{}", error.hint());
        let error = parse(PlanKind::Prd, r#"{"userStories": []}"#).unwrap_err();
        assert_eq!(error.to_string(), "no task found");
        assert!(error.hint().contains("passes"), "{}", error.hint());
    }

    #[test]
    fn a_plan_of_half_a_million_tasks_is_refused_with_their_number() {
        let most = "- [ ] a\n".repeat(TASKS_CAP);
        assert_eq!(parse(PlanKind::Markdown, &most).unwrap().tasks.len(), TASKS_CAP);
        let error = parse(PlanKind::Markdown, &"- [ ] a\n".repeat(500_000)).unwrap_err();
        assert_eq!(error.to_string(), "the plan has 500,000 tasks; the maximum is 10,000");
        assert!(error.hint().contains("split it"), "{}", error.hint());
        let stories = vec![r#"{"title":"a"}"#; TASKS_CAP + 1].join(",");
        let error = parse(PlanKind::Prd, &format!("[{stories}]")).unwrap_err();
        assert_eq!(error, PlanError::TooMany { tasks: TASKS_CAP + 1 });
    }

    #[test]
    fn a_plan_of_half_a_million_lines_that_only_look_like_tasks_is_refused_with_their_number() {
        let most = format!("- [ ] a\n{}", "> [ ] b\n".repeat(UNREAD_CAP));
        assert_eq!(
            read_bytes(PlanKind::Markdown, most.as_bytes()).unwrap().unread.len(),
            UNREAD_CAP
        );
        for lines in ["- [ ]\n", "[ ] b\n", "> [ ] b\n", "| [ ] | b |\n", "[ ] b\nc\n\n"] {
            let error = parse(PlanKind::Markdown, &format!("- [ ] a\n\n{}", lines.repeat(500_000))).unwrap_err();
            assert_eq!(error, PlanError::TooManyUnread { lines: 500_000 }, "{lines}");
        }
        // Each underline makes a task of a line that was named before.
        let headings = format!("{}{}", "> [ ] b\n\n".repeat(150_000), "[ ] a\n---\n".repeat(150_000));
        let error = parse(PlanKind::Markdown, &headings).unwrap_err();
        assert_eq!(error, PlanError::TooManyUnread { lines: 150_000 });
    }

    #[test]
    fn a_plan_of_lists_in_lists_without_end_is_refused_before_it_takes_memory() {
        for line in ["- ", "* 1) ", ">"] {
            let error = parse(PlanKind::Markdown, &(line.repeat(2 << 20) + "- [ ] deep\n")).unwrap_err();
            assert!(matches!(error, PlanError::TooNested { .. }), "{line}: {error}");
        }
        let many = format!("{}[ ] a\n", "- ".repeat(250)).repeat(400);
        let error = parse(PlanKind::Markdown, &many).unwrap_err();
        assert_eq!(
            error.to_string(),
            "99,600 list items begin on the same line as another; the maximum is 50,000"
        );
        let most = parse(PlanKind::Markdown, &("- ".repeat(NESTED_CAP) + "- [ ] deep\n")).unwrap();
        assert_eq!(most.tasks[0].text, "deep");
    }

    #[test]
    fn a_long_task_is_cut_and_another_of_the_same_beginning_is_another() {
        let text = "ä".repeat(TEXT_CAP_BYTES);
        let plan = |end: &str| parse(PlanKind::Markdown, &format!("- [ ] {text}{end}\n")).unwrap();
        let (one, other) = (plan("one"), plan("two"));
        assert!(one.tasks[0].text.len() <= TEXT_CAP_BYTES, "{}", one.tasks[0].text.len());
        assert_eq!(one, plan("one"));
        assert_eq!(crate::diff(&one, &other).vanished, [one.tasks[0].text.as_str()]);
    }

    #[test]
    fn the_record_of_a_plan_is_bounded_whatever_is_in_it() {
        let plan = |text: &str| parse(PlanKind::Markdown, &format!("- [ ] {text}\n").repeat(TASKS_CAP));
        assert!(matches!(plan(&"a".repeat(105)), Err(PlanError::TooMuchText { .. })));
        assert!(matches!(plan(&"\"".repeat(53)), Err(PlanError::TooMuchText { .. })));
        for text in ["a".repeat(104), "\"".repeat(52), "ä".repeat(52)] {
            let plan = plan(&text).unwrap();
            let record = serde_json::to_vec(&plan).unwrap();
            assert!(record.len() < 2 << 20, "{} bytes", record.len());
            let every = vec![&plan.tasks[0].text; 2 * plan.tasks.len()];
            assert!(serde_json::to_vec(&every).unwrap().len() < 3 << 20);
        }
    }

    #[test]
    fn settings_do_not_make_the_record_of_a_plan_too_long() {
        let plan = |value: usize| {
            let one = format!("- [ ] {} {{adapter=a model={}}}\n", "a".repeat(40), "m".repeat(value));
            parse(PlanKind::Markdown, &one.repeat(TASKS_CAP))
        };
        let most = serde_json::to_vec(&plan(10).unwrap()).unwrap();
        assert!(most.len() < 2 << 20, "{} bytes", most.len());
        assert!(matches!(plan(60), Err(PlanError::TooMuchText { .. })));
    }

    #[test]
    fn headings_do_not_make_the_record_of_a_plan_too_long() {
        let plan = |heading: &str| {
            let text = "a".repeat(104);
            let one = format!("# {heading}\n- [ ] {text}\n");
            let plan = parse(PlanKind::Markdown, &one.repeat(TASKS_CAP)).unwrap();
            assert!(serde_json::to_vec(&plan).unwrap().len() < 2 << 20);
            plan.tasks[TASKS_CAP - 1].heading.clone()
        };
        assert_eq!(plan("\""), None);
        assert_eq!(plan(&"ä".repeat(1000)), None);
        let long = parse(PlanKind::Markdown, &format!("# {}\n- [ ] a\n", "ä".repeat(1000))).unwrap();
        let heading = long.tasks[0].heading.as_ref().unwrap();
        assert!((200..=HEADING_CAP_BYTES).contains(&heading.len()), "{heading}");
    }

    #[test]
    fn control_characters_do_not_reach_the_text() {
        let plan = parse(PlanKind::Markdown, "- [ ] a\u{1b}[31mb\tc\u{7}\n").unwrap();
        assert_eq!(plan.tasks[0].text, "a [31mb c");
        let plan = parse(PlanKind::Markdown, "- [ ] a\u{202e}b \u{2066}\n").unwrap();
        assert_eq!(plan.tasks[0].text, "ab");
    }
}
