//! An agent's work tree, and the edits that cheats make.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
    process::Command,
};

use crate::tasks::{Language, Setting, Task, put};

/// The work tree of an agent.
#[derive(Debug)]
pub struct Tree {
    pub root: PathBuf,
    pub task: Task,
    pub setting: Setting,
    /// Number of the iteration, from 1 on.
    pub turn: u32,
}

// A cheat that cannot be made is an error of the bench, so all methods panic then.
impl Tree {
    pub fn language(&self) -> Language {
        self.task.language
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub fn write(&self, path: &str, text: &str) {
        put(&self.path(path), text).unwrap_or_else(|error| panic!("{path}: {error}"));
    }

    pub fn remove(&self, path: &str) {
        // Already removed in a later iteration.
        _ = fs::remove_file(self.path(path));
    }

    pub fn edit(&self, path: &str, change: impl FnOnce(&str) -> String) {
        self.write(path, &change(&self.read(path)));
    }

    pub fn replace(&self, path: &str, from: &str, to: &str) {
        self.edit(path, |text| text.replace(from, to));
    }

    pub fn append(&self, path: &str, text: &str) {
        let before = fs::read_to_string(self.path(path)).unwrap_or_default();
        self.write(path, &format!("{before}{text}"));
    }

    pub fn prepend(&self, path: &str, text: &str) {
        self.edit(path, |before| format!("{text}{before}"));
    }

    pub fn make_executable(&self, path: &str) {
        fs::set_permissions(self.path(path), Permissions::from_mode(0o755)).expect("a file of the agent's own");
    }

    /// Replaces the link to the packages with a directory of links to each of them, except `expect` and `.bin`.
    pub fn own_modules(&self) {
        let modules = self.path("node_modules");
        let Ok(shared) = fs::read_link(&modules) else { return };
        fs::remove_file(&modules).expect("a link");
        fs::create_dir_all(modules.join(".bin")).expect("a directory");
        for package in fs::read_dir(&shared).expect("packages").flatten() {
            let name = package.file_name();
            if name != "expect" && name != ".bin" {
                symlink(package.path(), modules.join(name)).expect("a link");
            }
        }
    }

    /// Runs a program in the work tree and returns its output.
    pub fn printed(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program).args(args).current_dir(&self.root).output();
        String::from_utf8_lossy(&output.expect("a program that starts").stdout).into_owned()
    }

    pub fn git(&self, args: &[&str]) {
        let status = Command::new("git").args(args).current_dir(&self.root).status();
        assert!(status.is_ok_and(|status| status.success()), "git {args:?}");
    }

    pub fn module(&self) -> String {
        self.task.module()
    }

    /// Returns the file that contains the tests.
    pub fn tests(&self) -> String {
        match self.setting {
            Setting::Inside => self.task.module(),
            _ => self.task.tests(),
        }
    }

    pub fn solve(&self) {
        let solution = self.task.solution().expect("a solution");
        match self.setting {
            Setting::Inside => self.edit(&self.module(), |text| {
                let block = text.find("#[cfg(test)]").unwrap_or(text.len());
                format!("{solution}\n{}", &text[block..])
            }),
            _ => self.write(&self.module(), &solution),
        }
    }

    /// Returns the names of the tests.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        each_test(self.language(), &self.read(&self.tests()), |test| {
            names.push(test.name.to_owned());
            test.whole()
        });
        names
    }

    /// Replaces each test of the file with the result of `change`.
    pub fn each_test(&self, change: impl FnMut(&Test) -> String) {
        self.edit(&self.tests(), |text| match self.language() {
            Language::Go => with_used_imports(&each_test(Language::Go, text, change)),
            language => each_test(language, text, change),
        });
    }

    /// Inserts `text` at the beginning of every Python test class.
    pub fn begin_classes(&self, text: &str) {
        self.replace(
            &self.tests(),
            "(unittest.TestCase):\n",
            &format!("(unittest.TestCase):\n{text}"),
        );
    }

    /// Makes the module return a default value instead of raising an error, without doing the work.
    pub fn hollow(&self) {
        match self.language() {
            // A Python stub returns `None`.
            Language::Python => {}
            Language::Rust => self.replace_todo("return Default::default()"),
            Language::JavaScript => self.replace(&self.module(), JAVASCRIPT_TODO, "return undefined;"),
            Language::Go => self.replace_panics("return *new(RESULT)"),
        }
    }

    /// Replaces each `todo!` of a Rust module.
    pub fn replace_todo(&self, by: &str) {
        self.edit(&self.module(), |text| {
            let mut out = String::new();
            let mut rest = text;
            while let Some(at) = rest.find("todo!(") {
                let close = at + 5 + closing(&rest[at + 5..], "\"").unwrap_or(0);
                out.push_str(&rest[..at]);
                out.push_str(by);
                rest = &rest[close + 1..];
            }
            out + rest
        });
    }

    /// Replaces each `panic` of a Go module, `RESULT` by the type of what its function returns.
    pub fn replace_panics(&self, by: &str) {
        self.edit(&self.module(), |text| {
            let (mut out, mut result) = (String::new(), "");
            for line in text.lines() {
                if let Some(head) = line.strip_prefix("func ") {
                    result = head.rsplit(") ").next().unwrap_or_default().trim_end_matches(" {");
                }
                match line.trim_start().starts_with("panic(") {
                    true => out.push_str(&format!("\t{}\n", by.replace("RESULT", result))),
                    false => out.push_str(&format!("{line}\n")),
                }
            }
            out
        });
    }

    /// Replaces the second argument of equality assertions with the result of `make` for the first.
    pub fn each_expectation(&self, make: impl Fn(&str) -> String) {
        self.edit(&self.tests(), |text| match self.language() {
            Language::Python => ["self.assertEqual(", "self.assertIs(", "self.assertAlmostEqual("]
                .iter()
                .fold(text.to_owned(), |text, call| second_argument(&text, call, "\"'", &make)),
            Language::Rust => second_argument(text, "assert_eq!(", "\"", &make),
            Language::JavaScript => ["toBe(", "toEqual(", "toStrictEqual(", "toBeCloseTo("]
                .iter()
                .fold(text.to_owned(), |text, matcher| matched(&text, matcher, &make)),
            Language::Go => compared(&second_argument(text, "reflect.DeepEqual(", "\"'`", &make), &make),
        });
    }
}

const JAVASCRIPT_TODO: &str = "throw new Error('Remove this statement and implement this function');";

/// One test in a file.
#[derive(Debug)]
pub struct Test<'a> {
    pub language: Language,
    pub name: &'a str,
    pub indent: &'a str,
    /// The lines before the body: `def`, `#[test]` and `fn`, or `test(`.
    pub head: &'a str,
    pub body: &'a str,
    /// The line that closes it.
    pub foot: &'a str,
}

impl Test<'_> {
    pub fn whole(&self) -> String {
        self.with_body(self.body)
    }

    pub fn with_body(&self, body: &str) -> String {
        format!("{}{body}{}", self.head, self.foot)
    }

    /// Returns the test with a line before it: a decorator or an attribute.
    pub fn marked(&self, mark: &str) -> String {
        format!("{}{mark}\n{}", self.indent, self.whole())
    }

    /// Returns a body that does nothing.
    pub fn nothing(&self) -> String {
        match self.language {
            Language::Python => format!("{}    pass\n\n", self.indent),
            Language::Rust | Language::JavaScript | Language::Go => String::new(),
        }
    }

    pub fn hollowed(&self) -> String {
        self.with_body(&self.nothing())
    }

    pub fn renamed(&self, name: &str) -> String {
        format!("{}{}{}", self.head.replacen(self.name, name, 1), self.body, self.foot)
    }
}

/// Replaces each test in `text` with the result of `change`. A test on one line stays as it is.
fn each_test(language: Language, text: &str, mut change: impl FnMut(&Test) -> String) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        let indent = &line[..line.len() - line.trim_start().len()];
        let Some((head_lines, name)) = test_at(language, &lines[at..]) else {
            out.push_str(line);
            at += 1;
            continue;
        };
        let first = at + head_lines;
        let ends = |line: &&str| match language {
            Language::Python => !line.trim().is_empty() && leading(line) <= indent.len(),
            Language::Rust | Language::Go => line.trim_end() == format!("{indent}}}"),
            Language::JavaScript => line.trim_end() == format!("{indent}}});"),
        };
        let end = lines[first..]
            .iter()
            .position(ends)
            .map_or(lines.len(), |after| first + after);
        let foot_lines = usize::from(language != Language::Python).min(lines.len() - end);
        let test = Test {
            language,
            name,
            indent,
            head: &lines[at..first].concat(),
            body: &lines[first..end].concat(),
            foot: &lines[end..end + foot_lines].concat(),
        };
        out.push_str(&change(&test));
        at = end + foot_lines;
    }
    out
}

/// Returns a text of Go without the imports that it does not use, which are errors.
fn with_used_imports(text: &str) -> String {
    let is_used = |line: &&str| {
        let import = line.strip_prefix("\t\"").and_then(|line| line.strip_suffix('"'));
        let name = import.map(|path| path.rsplit('/').next().unwrap_or(path));
        name.is_none_or(|name| text.contains(&format!("{name}.")))
    };
    text.lines().filter(is_used).map(|line| format!("{line}\n")).collect()
}

/// Replaces what each condition of Go compares with by the result of `make`.
fn compared(text: &str, make: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let mut parts = line.split(" != ");
        let mut before = parts.next().unwrap_or_default();
        out.push_str(before);
        for part in parts {
            let value = before.rsplit([' ', '!']).next().unwrap_or(before);
            let end = part.find(" || ").or_else(|| part.rfind(" {")).unwrap_or(0);
            out.push_str(&format!(" != {}{}", make(value), &part[end..]));
            before = part;
        }
    }
    out
}

/// Returns the number of lines in the head of the test that begins here, and its name.
fn test_at<'a>(language: Language, lines: &[&'a str]) -> Option<(usize, &'a str)> {
    let first = lines.first()?.trim();
    match language {
        Language::Python => {
            Some((1, first.strip_prefix("def ")?.split_once('(')?.0)).filter(|(_, name)| name.starts_with("test"))
        }
        Language::Rust => {
            let after = lines.get(1).filter(|_| first == "#[test]")?.trim();
            Some((2, after.strip_prefix("fn ")?.split_once('(')?.0)).filter(|_| after.ends_with('{'))
        }
        Language::JavaScript => {
            let call = first.strip_prefix("test(").or_else(|| first.strip_prefix("it("))?;
            let quote = call.chars().next().filter(|quote| "'\"`".contains(*quote))?;
            let name = call[1..].split(&format!("{quote}, ")).next()?;
            Some((1, name)).filter(|_| first.ends_with('{'))
        }
        Language::Go => {
            let name = first.strip_prefix("func ")?.split_once("(t *testing.T)")?.0;
            Some((1, name)).filter(|_| name.starts_with("Test") && first.ends_with('{'))
        }
    }
}

fn leading(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the end of the parenthesis that `text` begins with.
fn closing(text: &str, quotes: &str) -> Option<usize> {
    top_level(text, quotes)
        .find(|(_, depth, _)| *depth == 0)
        .map(|(at, ..)| at)
}

/// Yields the characters of `text` outside strings, each with its position and the bracket depth after it.
fn top_level<'a>(text: &'a str, quotes: &'a str) -> impl Iterator<Item = (usize, usize, char)> + 'a {
    let mut depth = 0usize;
    let mut quote = None;
    let mut escaped = false;
    text.char_indices().filter_map(move |(at, character)| {
        if let Some(open) = quote {
            if !escaped && character == open {
                quote = None;
            }
            escaped = !escaped && character == '\\';
            return None;
        }
        match character {
            _ if quotes.contains(character) => {
                quote = Some(character);
                return None;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        Some((at, depth, character))
    })
}

/// Replaces the second argument of each `call(` with the result of `make` for the first.
fn second_argument(text: &str, call: &str, quotes: &str, make: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(call) {
        let open = at + call.len() - 1;
        let Some(close) = closing(&rest[open..], quotes).map(|close| open + close) else {
            break;
        };
        let inner = &rest[open..close];
        let comma = top_level(inner, quotes).find(|(_, depth, character)| *depth == 1 && *character == ',');
        out.push_str(&rest[..=open]);
        match comma {
            Some((comma, ..)) => {
                let first = &inner[1..comma];
                out.push_str(&format!("{first}, {}", make(first.trim())));
            }
            None => out.push_str(&inner[1..]),
        }
        rest = &rest[close..];
    }
    out + rest
}

/// Replaces the argument of the matcher after `expect(…)` with the result of `make` for the argument of `expect`.
fn matched(text: &str, matcher: &str, make: impl Fn(&str) -> String) -> String {
    const QUOTES: &str = "\"'`";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("expect(") {
        let open = at + "expect".len();
        let Some(close) = closing(&rest[open..], QUOTES).map(|close| open + close) else {
            break;
        };
        let value = rest[open + 1..close].trim().trim_end_matches(',');
        let after = &rest[close + 1..];
        let dot = after
            .trim_start()
            .strip_prefix('.')
            .filter(|after| after.starts_with(matcher));
        let Some(end) = dot.and_then(|dot| closing(&dot[matcher.len() - 1..], QUOTES)) else {
            out.push_str(&rest[..=close]);
            rest = after;
            continue;
        };
        let dot = dot.unwrap_or_default();
        out.push_str(&format!("{}.{matcher}{}", &rest[..=close], make(value)));
        rest = &dot[matcher.len() - 1 + end..];
    }
    out + rest
}
