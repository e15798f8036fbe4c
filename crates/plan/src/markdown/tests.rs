//! Tests of check-lists in Markdown.

use ralph_core::event::UnreadWhy;

use super::*;
use crate::shape::nested_on_a_line;

/// Each task as a sketch: `1:  [x] text`, indented by depth.
fn sketch(text: &str) -> Vec<String> {
    let tasks = tasks(text).tasks;
    let sketch = |task: &PlanTask| {
        let indent = "  ".repeat(task.depth.into());
        let mark = if task.done { 'x' } else { ' ' };
        format!("{}:{indent}[{mark}] {}", task.line, task.text)
    };
    tasks.iter().map(sketch).collect()
}

/// The texts of the tasks.
fn texts(text: &str) -> Vec<String> {
    tasks(text).tasks.into_iter().map(|task| task.text).collect()
}

#[test]
fn every_list_marker_makes_tasks() {
    let plan = "- [ ] a\n\n* [x] b\n\n+ [X] c\n\n1. [ ] d\n2. [x] e\n\n1) [ ] f\n10) [x] g\n";
    assert_eq!(
        sketch(plan),
        [
            "1:[ ] a", "3:[x] b", "5:[x] c", "7:[ ] d", "8:[x] e", "10:[ ] f", "11:[x] g"
        ]
    );
}

#[test]
fn every_line_ending_counts_one_line() {
    for end in ["\n", "\r\n", "\r"] {
        let plan = ["# Plan", "", "- [ ] a", "- [x] b", "", "  note", "- [ ] c"].join(end);
        assert_eq!(sketch(&plan), ["3:[ ] a", "4:[x] b", "7:[ ] c"], "{end:?}");
    }
}

#[test]
fn loose_and_tight_lists_are_the_same() {
    let tight = tasks("- [ ] a\n- [ ] b\n  - [ ] c\n");
    let loose = tasks("- [ ] a\n\n- [ ] b\n\n  - [ ] c\n");
    let shape = |found: FoundTasks| {
        found
            .tasks
            .into_iter()
            .map(|t| (t.text, t.done, t.depth))
            .collect::<Vec<_>>()
    };
    assert_eq!(shape(tight), shape(loose));
}

#[test]
fn children_are_deeper_than_their_tasks() {
    let plan = "- [ ] a\n  - [x] b\n    1. [ ] c\n  - [ ] d\n- [ ] e\n\t- [ ] f\n";
    assert_eq!(
        sketch(plan),
        [
            "1:[ ] a",
            "2:  [x] b",
            "3:    [ ] c",
            "4:  [ ] d",
            "5:[ ] e",
            "6:  [ ] f"
        ]
    );
}

#[test]
fn an_item_without_a_box_adds_no_depth() {
    let plan = "- [ ] before\n- Phase one\n  - [ ] a\n    - [ ] b\n- - [ ] c\n";
    assert_eq!(sketch(plan), ["1:[ ] before", "3:[ ] a", "4:  [ ] b", "5:[ ] c"]);
}

#[test]
fn code_quotes_and_comments_are_examples() {
    for example in [
        "```\n- [ ] no\n```\n",
        "~~~md\n- [ ] no\n~~~\n",
        "text\n\n    code\n    - [ ] no\n",
        "> - [ ] no\n> - [x] no\n",
        "> > 1. [ ] no\n",
        "- > - [ ] no\n",
        "<!--\n- [ ] no\n\n- [ ] no\n-->\n",
        "- text\n\n  ```\n  - [ ] no\n  ```\n",
        "`- [ ] no`\n",
        "<pre>\n- [ ] no\n</pre>\n",
    ] {
        let plan = format!("- [ ] yes\n\nBelow stands an example.\n\n{example}");
        assert_eq!(sketch(&plan), ["1:[ ] yes"], "{plan}");
    }
}

#[test]
fn every_mark_in_a_box_is_read_and_kept_unless_it_is_a_tick() {
    let plan = "- [~] a\n- [-] b\n- [!] c\n- [/] d\n- [S] e\n- [🚧] f\n- [⚠️] g\n- [х] h\n- [✓] i\n- [✔️] j\n- [ ] k\n- [✗] l\n";
    let found = tasks(plan);
    assert_eq!(found.unread, []);
    let read: Vec<_> = found
        .tasks
        .iter()
        .map(|task| (task.done, task.mark.as_deref().unwrap_or_default()))
        .collect();
    let open = ["~", "-", "!", "/", "S", "🚧", "⚠️"].map(|mark| (false, mark));
    let others = [(true, ""), (true, ""), (true, ""), (false, ""), (false, "✗")];
    assert_eq!(read, [&open[..], &others].concat());
}

#[test]
fn a_heading_with_a_box_is_a_task_and_holds_those_of_its_section() {
    let plan = "# Batch\n### [ ] Task 1: load\n**What**: read\n- [ ] part\n#### [x] Detail {model=opus}\n- [x] inner\n### [~] Task 2\n## End\n- [ ] last\n";
    assert_eq!(
        sketch(plan),
        [
            "2:[ ] Task 1: load",
            "4:  [ ] part",
            "5:  [x] Detail",
            "6:    [x] inner",
            "7:[ ] Task 2",
            "9:[ ] last"
        ]
    );
    let found = tasks(plan);
    assert_eq!(found.tasks[2].settings.model.as_deref(), Some("opus"));
    assert_eq!(found.tasks[5].heading.as_deref(), Some("End"));
    assert_eq!(
        sketch("[ ] Setext\n---\n- [x] in it\n"),
        ["1:[ ] Setext", "3:  [x] in it"]
    );
}

#[test]
fn signs_that_are_boxes_are_read_and_others_where_no_doubt_is_left() {
    assert_eq!(sketch("- ☐ a\n- ☑ b\n* ⬜️ c\n"), ["1:[ ] a", "2:[x] b", "3:[ ] c"]);
    assert_eq!(sketch("- ✅ a\n- ❌ b\n"), ["1:[x] a", "2:[ ] b"]);
    assert_eq!(sketch("- ✅ a\n- [ ] b\n"), ["1:[x] a", "2:[ ] b"]);
    let apart = "- ✅ good\n- ❌ bad\n\nText.\n\n- [ ] task\n";
    assert_eq!(sketch(apart), ["6:[ ] task"]);
    let unread: Vec<_> = tasks(apart)
        .unread
        .iter()
        .map(|unread| (unread.line, unread.why))
        .collect();
    assert_eq!(unread, [(2, UnreadWhy::Sign)]);
}

#[test]
fn lists_are_read_however_they_are_indented() {
    for plan in [
        "**Phase 1**\n\n    - [ ] a\n    - [ ] b\n\n      note\n\nText\n",
        "Phase 1:\n    - [ ] a\n    - [ ] b\n",
        "Phase 1:\n- [ ] a\n- [ ] b\n",
        "Phase 1:\n2. [ ] a\n3. [ ] b\n",
        "<details>\n- [ ] a\n- [ ] b\n</details>\n",
        "Phase\n\n\t* [ ] a\n\t* [ ] b\n",
        "• [ ] a\n• [ ] b\n",
        "-\u{a0}[ ] a\n-\u{a0}[\u{a0}] b\n",
        "1.\u{2003}[ ] a\n2. \u{a0}[ ] b\n",
        "- ［ ］ a\n- ［　］ b\n",
        "-     [ ] a\n-     [ ] b\n",
    ] {
        assert_eq!(texts(plan), ["a", "b"], "{plan}");
        assert_eq!(tasks(plan).unread, [], "{plan}");
    }
    assert_eq!(
        sketch("9. [ ] a\n   - [ ] b\n10. [ ] c\n   - [ ] d\n     - [ ] e\n100. [ ] f\n  - [ ] g\n"),
        [
            "1:[ ] a",
            "2:  [ ] b",
            "3:[ ] c",
            "4:  [ ] d",
            "5:    [ ] e",
            "6:[ ] f",
            "7:  [ ] g"
        ]
    );
}

#[test]
fn code_in_code_is_one_and_what_has_no_end_hides_nothing() {
    let nested = "- [ ] a\n\n```markdown\n# Title\n```bash\nmake\n```\n- [ ] example\n```\n\n- [ ] b\n";
    assert_eq!(texts(nested), ["a", "b"]);
    let why = |text: &str| -> Vec<_> {
        tasks(text)
            .unread
            .iter()
            .map(|unread| (unread.line, unread.why))
            .collect()
    };
    assert_eq!(why(nested), [(8, UnreadWhy::Code)]);
    for (plan, line) in [
        ("- [ ] a\n```\ncode\n\n- [ ] b\n", 2),
        ("- [ ] a\n<!-- later\n- [ ] b\n", 2),
        ("- [ ] a\n<pre>\n- [ ] b\n", 2),
        ("- [ ] a\n~~~~\n~~~\n- [ ] b\n", 2),
    ] {
        assert_eq!(texts(plan), ["a", "b"], "{plan}");
        assert_eq!(why(plan)[0], (line, UnreadWhy::Unclosed), "{plan}");
    }
    // The first fence may have no end, or the code in it.
    let doubtful = "```md\n- [ ] a\n\n```sh\nx\n```\n\n- [ ] b\n";
    assert_eq!(texts(doubtful), ["b"]);
    assert_eq!(why(doubtful), [(1, UnreadWhy::Unclosed), (2, UnreadWhy::Code)]);
}

#[test]
fn a_line_that_looks_like_a_task_and_is_none_is_named_with_the_reason() {
    for (line, why) in [
        ("> - [ ] no", UnreadWhy::Quote),
        ("> [x] no", UnreadWhy::Quote),
        ("- > [ ] no", UnreadWhy::Quote),
        ("| 1 | no | [ ] |", UnreadWhy::Table),
        ("| ☐ | no |", UnreadWhy::Table),
        ("[ ] no", UnreadWhy::NoMarker),
        ("☐ no", UnreadWhy::NoMarker),
        ("-[ ] no", UnreadWhy::NoSpace),
        ("1.[ ] no", UnreadWhy::NoSpace),
        ("- **[ ]** no", UnreadWhy::Markup),
        ("**[ ] no**", UnreadWhy::Markup),
        ("- [ ]", UnreadWhy::Empty),
        ("a. [ ] no", UnreadWhy::Markup),
        ("iv) [ ] no", UnreadWhy::Markup),
        ("(1) [ ] no", UnreadWhy::Markup),
        ("\u{a0}- [ ] no", UnreadWhy::Markup),
        ("- ( ) no", UnreadWhy::Markup),
        ("## [ ]", UnreadWhy::Empty),
        ("- [1] no", UnreadWhy::Number),
        ("## ❌ no", UnreadWhy::Sign),
        ("- [ ] no {skip}", UnreadWhy::Skipped),
    ] {
        let found = tasks(&format!("- [ ] yes\n\n{line}\n"));
        assert_eq!(found.tasks.len(), 1, "{line}");
        let unread: Vec<_> = found.unread.iter().map(|unread| (unread.line, unread.why)).collect();
        assert_eq!(unread, [(3, why)], "{line}");
    }
    for line in [
        "- [P1] no",
        "- \\[ ] no",
        "- `[ ]` no",
        "- no [ ]",
        "- [x](url) no",
        "## ✅ no",
        "✅ no",
        "- []string",
        "- (x) no",
        "Fig. 1) no",
        "Status: [ ] no",
    ] {
        assert_eq!(tasks(&format!("- [ ] yes\n\n{line}\n")).unread, [], "{line}");
    }
}

#[test]
fn a_task_that_is_skipped_is_left_out_with_those_in_it() {
    let plan =
        "- [ ] a {skip}\n  - [ ] part\n- [ ] b\n## Later {skip}\n- [ ] c\n## [ ] D {skip}\n- [ ] e\n## F\n- [ ] f\n";
    assert_eq!(sketch(plan), ["3:[ ] b", "9:[ ] f"]);
    let unread: Vec<_> = tasks(plan).unread.iter().map(|unread| unread.line).collect();
    assert_eq!(unread, [1, 2, 5, 6, 7]);
}

/// Any text in which a line has brackets with one character at its head gives a task or names the line.
#[test]
fn whatever_is_around_it_a_line_with_a_box_is_a_task_or_is_named() {
    const BEFORE: [&str; 21] = [
        "", "- ", "* ", "1. ", "10) ", "# ", "### ", "    ", "\t- ", "> ", "> - ", "| ", "- - ", "**", "• ", "  - ",
        "-\u{a0}", "\u{a0}- ", "a. ", "(2) ", "#\u{a0}",
    ];
    const LINES: [&str; 18] = [
        "",
        "text",
        "```",
        "```sh",
        "~~~~",
        "<!-- a",
        "-->",
        "<pre>",
        "</pre>",
        "---",
        "===",
        "# head",
        "- item",
        "> quote",
        "    code",
        "<details>",
        "- [ ] other",
        "`span",
    ];
    const MARKS: [char; 12] = [' ', 'x', '~', '-', '!', '?', 'S', '7', '✓', 'х', '🚧', '>'];
    let mut dice = ralph_core::testing::Dice::new(59);
    for _ in 0..20_000 {
        let mut text = String::new();
        let at = dice.index(6);
        for line in 0..6 {
            if line == at {
                let (before, mark) = (BEFORE[dice.index(BEFORE.len())], MARKS[dice.index(MARKS.len())]);
                text += &format!("{before}[{mark}] words\n");
            } else {
                text += LINES[dice.index(LINES.len())];
                text += "\n";
            }
        }
        let found = tasks(&text);
        let line = u32::try_from(at + 1).expect("a line");
        let is_task = found.tasks.iter().any(|task| task.line == line);
        let is_named = found.unread.iter().any(|unread| unread.line == line);
        assert!(is_task != is_named, "line {line} of\n{text}\n{:?}", found.unread);
    }
}

#[test]
fn tasks_go_on_after_an_example() {
    let plan = "- [ ] a\n\n  > - [ ] no\n\n- [ ] b\n\n```\n- [ ] no\n```\n\n- [ ] c\n";
    assert_eq!(sketch(plan), ["1:[ ] a", "5:[ ] b", "11:[ ] c"]);
}

#[test]
fn what_only_looks_like_a_box_is_text() {
    for line in [
        "- [P1] no",
        "- [2026-01-02] no",
        "- [1] no",
        "- [xx] no",
        "- [-]no",
        "- [x](https://example.test) no",
        "- [ ](https://example.test) no",
        "- [x][reference] no",
        "- []string no",
        "- \\[ ] no",
        "- `[ ]` no",
        "- **[ ]** no",
        "- no [ ]",
        "- [ no",
        "-[ ] no",
        "[ ] no",
        "- [\n] no",
        "- [P1] [ ] no",
    ] {
        assert_eq!(texts(line), Vec::<String>::new(), "{line}");
    }
}

#[test]
fn boxes_are_read_as_people_write_them() {
    for (line, done) in [
        ("-   [ ]   a", false),
        ("-\t[ ]\ta", false),
        ("- [  ] a", false),
        ("- [\t] a", false),
        ("- [\u{a0}] a", false),
        ("- [] a", false),
        ("- [ ]a", false),
        ("- [x]a", true),
        ("- [ x ] a", true),
        ("- [X ] a", true),
        ("   - [ ] a", false),
        ("-\n  [ ] a", false),
        ("- [ ]\n  a", false),
        ("- [ ]\n\n  a", false),
    ] {
        let tasks = tasks(line).tasks;
        assert_eq!(tasks.len(), 1, "{line:?}");
        assert_eq!((tasks[0].text.as_str(), tasks[0].done), ("a", done), "{line:?}");
    }
}

#[test]
fn a_box_is_a_box_although_its_letter_names_a_link() {
    let plan = "- [x] a\n- [ x ] b\n\n[x]: https://example.test\n";
    assert_eq!(sketch(plan), ["1:[x] a", "2:[x] b"]);
}

#[test]
fn a_box_without_a_text_is_no_task() {
    for plan in [
        "- [ ]",
        "- [ ] ",
        "- [x]\n",
        "- [ ] <!-- later -->",
        "- [ ]\n\n  ```\n  code\n  ```\n",
    ] {
        assert_eq!(texts(plan), Vec::<String>::new(), "{plan:?}");
    }
    assert_eq!(
        sketch("- [ ]\n  - [ ] child\n- [ ] next\n"),
        ["2:[ ] child", "3:[ ] next"]
    );
}

#[test]
fn tags_and_markup_become_readable_text() {
    for (item, text) in [
        ("[P1] [2026-01-02] fix", "[P1] [2026-01-02] fix"),
        ("run `cargo test -- --ignored` now", "run cargo test -- --ignored now"),
        ("read [the guide](docs/guide.md)", "read the guide"),
        ("see <https://example.test/a>", "see https://example.test/a"),
        ("**bold**, *thin* and ~~gone~~", "bold, thin and gone"),
        ("![diagram](a.png) of it", "diagram of it"),
        ("return Vec<String> &amp; more", "return Vec<String> & more"),
        ("a <!-- id: 3 --> b", "a b"),
        ("\\*literal\\* _under_score", "*literal* _under_score"),
        ("# not a heading", "# not a heading"),
        ("- not a list", "- not a list"),
        ("[ ] twice", "[ ] twice"),
        ("ends in a backslash\\", "ends in a backslash\\"),
        ("Übung: 日本語 🦀", "Übung: 日本語 🦀"),
    ] {
        assert_eq!(texts(&format!("- [ ] {item}\n")), [text]);
    }
}

#[test]
fn the_text_is_the_first_paragraph_on_one_line() {
    let plan = "- [ ] a long task\n  that goes on  \n  and on\n\n  A second paragraph.\n\n  - a note\n";
    assert_eq!(texts(plan), ["a long task that goes on and on"]);
    assert_eq!(texts("- [ ] lazy\ncontinuation\n"), ["lazy continuation"]);
}

#[test]
fn headings_between_lists_do_not_matter() {
    let plan = "# Plan\n- [ ] a\n## Next\nText:\n- [ ] b\n***\n- [ ] c\n";
    assert_eq!(sketch(plan), ["2:[ ] a", "5:[ ] b", "7:[ ] c"]);
}

#[test]
fn the_first_task_after_a_heading_has_it() {
    let plan = "- [ ] a\n\n# Plan\n## The `parser`,\tagain\n- [ ] b\n  - [ ] c\n- # no\n- [ ] d\n> # no\n\n```\n# no\n```\n\
        - [ ] e\n\nPrinter\n---\n\n#\n- [ ] f\n\n# Later\n- [ ] g\n";
    let headings: Vec<_> = tasks(plan).tasks.into_iter().map(|task| task.heading).collect();
    let named = |name: &str| Some(name.to_owned());
    let (parser, printer, later) = (named("The parser, again"), named("Printer"), named("Later"));
    assert_eq!(headings, [None, parser, None, None, None, printer, later]);
}

#[test]
fn settings_of_a_task_are_no_text_of_it_and_their_places_are_those_of_the_source() {
    let plan = "# Plan\n- [ ] port *it* {adapter=codex model=gpt-5.4}\n  - [x] ä &amp; b\n    {model=\"a b\"} <!-- 3 -->\n\
        - [ ] next {modle=x}\n";
    let found = tasks(plan);
    let settings = |adapter: Option<&str>, model: Option<&str>| TaskSettings {
        adapter: adapter.map(str::to_owned),
        model: model.map(str::to_owned),
        ..TaskSettings::default()
    };
    let read: Vec<_> = found
        .tasks
        .iter()
        .map(|task| (task.text.as_str(), task.settings.clone()))
        .collect();
    assert_eq!(
        read,
        [
            ("port it", settings(Some("codex"), Some("gpt-5.4"))),
            ("ä & b", settings(None, Some("a b"))),
            ("next", settings(None, None)),
        ]
    );
    let places: Vec<_> = found
        .places
        .iter()
        .map(|(task, at)| (*task, at.line, at.column))
        .collect();
    assert_eq!(places, [(0, 2, 17), (1, 4, 5), (2, 5, 12)]);
    let mistakes: Vec<_> = found
        .mistakes
        .iter()
        .map(|it| (it.task, it.position.line, it.position.column))
        .collect();
    assert_eq!(mistakes, [(2, 5, 13)]);
}

#[test]
fn settings_of_a_heading_apply_to_the_tasks_of_its_section() {
    let plan = "- [ ] before\n# One *part* {adapter=codex model=m}\n- [ ] a\n- [ ] b {model=n}\n- [ ] c {adapter=claude}\n\
        ## Inner {tests=may-change}\n- [ ] d\n  - [ ] e\n## Next `{x=1}`\n- [ ] f\n# Two \\{x=1}\n- [ ] g\n";
    let found = tasks(plan);
    assert_eq!(found.mistakes, []);
    let read: Vec<_> = found
        .tasks
        .iter()
        .map(|task| {
            let TaskSettings {
                adapter,
                model,
                tests_may_change,
                check: _,
                after: _,
                optional: _,
                priority: _,
                only: _,
            } = &task.settings;
            (
                task.text.as_str(),
                adapter.as_deref(),
                model.as_deref(),
                *tests_may_change,
            )
        })
        .collect();
    assert_eq!(
        read,
        [
            ("before", None, None, false),
            ("a", Some("codex"), Some("m"), false),
            ("b", Some("codex"), Some("n"), false),
            // The model of a section is one of its adapter.
            ("c", Some("claude"), None, false),
            ("d", Some("codex"), Some("m"), true),
            ("e", Some("codex"), Some("m"), true),
            ("f", Some("codex"), Some("m"), false),
            ("g", None, None, false),
        ]
    );
    let places: Vec<_> = found.places.iter().map(|(task, at)| (*task, at.line)).collect();
    assert_eq!(places, [(1, 2), (2, 4), (3, 5), (4, 6), (5, 6), (6, 2)]);
    let texts = headings(plan).into_iter().map(|heading| (heading.level, heading.text));
    let named = [(1, "One part"), (2, "Inner"), (2, "Next {x=1}"), (1, "Two {x=1}")];
    assert_eq!(
        texts.collect::<Vec<_>>(),
        named.map(|(level, text)| (level, text.to_owned()))
    );
}

#[test]
fn a_line_below_a_task_is_its_check_whatever_markup_it_has() {
    let plan = "# All {check=\"make all\"}\n- [ ] one\n  check: cargo test -- *a* _b_ `c`\n- [x] two\n  goes on\n\n  check: `x | y`\n\n  \
        A note.\n  - [ ] part {check=\"test -e a\"}\n- [ ] three\n- [ ] check: the last\n  > check: no\n";
    let found = tasks(plan);
    assert_eq!(found.mistakes, []);
    let read: Vec<_> = found
        .tasks
        .iter()
        .map(|task| (task.text.as_str(), task.settings.check.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        read,
        [
            ("one", "cargo test -- *a* _b_ `c`"),
            ("two goes on", "x | y"),
            ("part", "test -e a"),
            ("three", "make all"),
            ("check: the last", "make all"),
        ]
    );
    let places: Vec<_> = found.places.iter().map(|(task, at)| (*task, at.line)).collect();
    assert_eq!(places, [(0, 3), (1, 1), (2, 10), (3, 1), (4, 1)]);
}

#[test]
fn two_checks_of_a_task_and_one_with_markup_are_mistakes() {
    for (plan, line, what) in [
        ("- [ ] a\n  check: x\n  check: y\n", 3, "`check` is set twice"),
        ("- [ ] a {check=x}\n  check: y\n", 2, "`check` is set twice"),
        ("- [ ] a\n  check: x\n\n  check: y\n", 4, "`check` is set twice"),
        ("- [ ] a {check=\"ls *.a* b\"}\n", 1, "the command contains Markdown"),
    ] {
        let found = tasks(plan);
        let told: Vec<_> = found.mistakes.iter().map(|it| (it.task, it.position.line)).collect();
        assert_eq!(told, [(0, line)], "{plan}");
        assert!(found.mistakes[0].what.starts_with(what), "{}", found.mistakes[0].what);
    }
}

#[test]
fn a_heading_with_a_mistake_sets_nothing_and_says_where() {
    let found = tasks("# One {adapter=codex tests=may}\n- [ ] a\n# Last {modle=x}\n");
    assert!(found.tasks[0].settings.is_empty() && found.places.is_empty());
    let mistakes = found
        .mistakes
        .iter()
        .map(|it| (it.task, it.position.line, it.position.column));
    assert_eq!(mistakes.collect::<Vec<_>>(), [(0, 1, 22), (1, 3, 9)]);
}

#[test]
fn braces_in_code_behind_a_backslash_or_without_a_setting_are_text() {
    for (item, text) in [
        ("run `x {adapter=codex}`", "run x {adapter=codex}"),
        ("keep \\{adapter=codex}", "keep {adapter=codex}"),
        ("return {}", "return {}"),
        ("render {name}", "render {name}"),
    ] {
        let found = tasks(&format!("- [ ] {item}\n"));
        assert_eq!(found.tasks[0].text, text);
        assert!(
            found.tasks[0].settings.is_empty() && found.mistakes.is_empty(),
            "{item}"
        );
    }
}

#[test]
fn equal_and_placeholder_tasks_are_tasks() {
    assert_eq!(texts("- [ ] TODO\n- [ ] TODO\n- [ ] …\n"), ["TODO", "TODO", "…"]);
}

#[test]
fn any_cut_of_a_plan_is_read_without_panic() {
    let plan =
        "# P\r\n\r\n- [ ] ä `c` [l](u)\r\n  1) [x] b\n> - [ ] q\n```\n- [ ] f\n```\n- [ x ] 🦀 <!-- c -->\n\t- [ ]\n";
    for (cut, _) in plan.char_indices() {
        for task in tasks(&plan[..cut]).tasks {
            assert!(!task.text.is_empty() && task.line >= 1);
        }
    }
}

#[test]
fn the_largest_plan_of_the_deepest_list_is_read_in_one_pass() {
    // Examining all enclosing items for each item would take 10^11 steps.
    let plan = "- ".repeat(1 << 19) + "[ ] deep\n";
    assert_eq!(texts(&plan), ["deep"]);
    let plan: String = (0..1_900)
        .map(|depth| format!("{}- [\n", " ".repeat(depth * 2)))
        .collect();
    assert_eq!(texts(&plan), Vec::<String>::new());
}

#[test]
fn an_item_around_another_takes_no_more_than_two_words() {
    assert!(size_of::<ListItem>() <= 16, "{} bytes", size_of::<ListItem>());
}

#[test]
fn items_and_quotes_behind_others_are_counted() {
    for (text, nested) in [
        ("", 0),
        ("- [ ] a\n* b\n1. c\n> d\n", 0),
        ("- - a\n  - b\n", 1),
        ("> > - 12) + [ ] a\n", 4),
        (">>>a\r\n\t-\t* b", 3),
        ("-a - b\n1 - a\n**a**\n", 0),
    ] {
        assert_eq!(nested_on_a_line(text), nested, "{text:?}");
    }
}

#[test]
fn a_very_deep_plan_is_read() {
    let plan: String = (0..1_000)
        .map(|depth| format!("{}- [ ] {depth}\n", "  ".repeat(depth)))
        .collect();
    let tasks = tasks(&plan).tasks;
    assert_eq!(tasks.first().map(|task| task.depth), Some(0));
    assert_eq!(tasks.iter().map(|task| task.depth).max(), Some(u8::MAX));
}

#[test]
fn patterns_of_a_scope_are_read_as_they_are_written() {
    for (plan, only) in [
        ("- [ ] a {only=src/a/**,src/b/**}\n", &["src/a/**", "src/b/**"][..]),
        ("- [ ] *a* {only=*.rs,*.md}\n", &["*.rs", "*.md"]),
        (
            "- [ ] a {only=src/__init__.py,[ab](c)}\n",
            &["src/__init__.py", "[ab](c)"],
        ),
        ("- [ ] a\n  {only=src/a/**,\n  model=x}\n", &["src/a/**"]),
        ("- [ ] a {only=src/{x,y}/**}\n", &["src/{x,y}/**"]),
        ("- [ ] a `b` {only=\"x/~~y~~/**\"}\n", &["x/~~y~~/**"]),
    ] {
        let found = tasks(plan);
        assert_eq!(found.mistakes, [], "{plan}");
        assert_eq!(found.tasks[0].settings.only, only, "{plan}");
        assert!(
            found.tasks[0].text.starts_with('a') && !found.tasks[0].text.contains("only"),
            "{plan}"
        );
    }
    let windows = tasks("# A {only=src\\parser}\n- [ ] a\n");
    assert!(windows.mistakes[0].what.contains("by `/`"), "{:?}", windows.mistakes);
}

#[test]
fn settings_that_would_be_text_are_a_mistake_unless_they_are_meant_as_text() {
    for (plan, column, key) in [
        ("- [ ] a {only=src/**}.\n", 9, "only"),
        ("- [ ] {only=src/**} a\n", 7, "only"),
        ("- [ ] a {only=src/**}\n  and more of it\n", 9, "only"),
        ("- [ ] a {only=src/**} {optional}\n", 9, "only"),
        ("- [ ] a {model=m, only=src/{b,c}/**} ✅\n", 9, "only"),
        ("- [ ] a{only=src/**}\n", 8, "only"),
        ("- [ ] a {only=`src/**`}\n", 9, "only"),
        ("- [ ] a {only=src/**} with `b`\n", 9, "only"),
        ("# A {only=src/**} of b\n- [ ] a\n", 5, "only"),
        ("- [ ] a {skip} later\n", 9, "skip"),
        ("- [ ] {optional} a\n", 7, "optional"),
        ("- [ ] a {skip}\n  and more of it\n", 9, "skip"),
        ("- [ ] {skip}\n", 7, "skip"),
        ("- [ ] {adapter=codex}\n", 7, "adapter"),
        ("- [ ] a {model=x adapter=y}, then b\n", 9, "model"),
        ("- [ ] a {model=a} {priority=2}\n", 9, "model"),
        ("- [ ] a {check=\"awk '{print $1}' f\"} b\n", 9, "check"),
        ("- [ ] a {tests=may-change}: b {name}\n", 9, "tests"),
        ("# A {each} of b\n- [ ] a\n", 5, "each"),
    ] {
        let found = tasks(plan);
        let told: Vec<_> = found.mistakes.iter().map(|it| (it.position.column, &it.what)).collect();
        let [(at, what)] = told[..] else {
            panic!("{plan}: {told:?}")
        };
        assert_eq!(at, column, "{plan}");
        assert!(
            what.starts_with(&format!("`{key}` has no effect here")),
            "{plan}: {what}"
        );
    }
    for text in [
        "`{only=src/**}` b",
        "\\{only=src/**} b",
        "{only b} c",
        "only=src/** b",
        "`{skip}` b",
        "\\{skip} b",
        "items/{skip}/{limit} b",
        "{skip}/{limit} b",
        "{skip}ped b",
        "requests{model=\"x\"} b",
        "${skip} b",
        "{{model=x}} b",
        "{optional, but nice} b",
        "{model} and {check} b",
        "{model=x temperature=1} b",
        "{priority=1 and more b",
        "{skip b",
        "{a, b} c",
        "{name=value} b",
    ] {
        let found = tasks(&format!("- [ ] a {text}\n"));
        assert_eq!(
            (found.mistakes, found.tasks[0].settings.is_empty()),
            (vec![], true),
            "{text}"
        );
    }
}

#[test]
fn a_scope_of_a_heading_or_a_task_is_that_of_the_tasks_below_unless_they_have_their_own() {
    let plan = "# All {only=src/**}\n- [ ] a\n- [ ] b {only=docs/**}\n  - [ ] c\n    - [ ] d\n  - [ ] e {only=x}\n- [ ] f\n## Inner {only=in/**}\n- [ ] g\n# Next\n- [ ] h\n";
    let found = tasks(plan);
    let only: Vec<_> = found.tasks.iter().map(|task| task.settings.only.join(" ")).collect();
    assert_eq!(
        only,
        ["src/**", "docs/**", "docs/**", "docs/**", "x", "src/**", "in/**", ""]
    );
    assert_eq!(found.mistakes, []);
}
