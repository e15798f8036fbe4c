//! Syntax searches and replacements with ast-grep. The program runs once for each question and makes no edits itself.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use ralph_core::event::{Exit, clip};
use ralph_system::{
    diagnostics::inherited,
    proc::{ChildEnd, Printed, StopSpeed, collector},
};
use ralph_text::{one_line, with_causes};
use serde_json::Value;
use tokio::{task::spawn_blocking, time::timeout_at};

use super::{
    answers::bounded,
    edits::{EditPlan, Replacement},
    facts::{Indexing, LanguageAnswer, QueryError, SourceLocation, SyntaxPattern},
    home::{Home, blocking, confined},
    places::cut,
    pool::ServerPool,
    position::IndexedText,
    source::{self, MARK, resolve},
};

/// The program, which is used if it is installed. Its other name `sg` is not used, since an unrelated command has that
/// name.
pub const AST_GREP: &str = "ast-grep";

/// Most bytes of its output that are read, and most matches.
const OUTPUT_BYTES: usize = 16 << 20;
const MATCHES: usize = 20_000;
/// Most bytes of its error messages.
const STDERR_BYTES: usize = 8 << 10;
const GRACE: Duration = Duration::from_secs(1);

/// A match as ast-grep reports it.
#[derive(Debug)]
struct SyntaxMatch {
    file: PathBuf,
    /// The line and the column, in characters from 0.
    line: usize,
    column: usize,
    first_line: String,
    replacement: Option<(usize, usize, String)>,
}

pub(super) async fn search(
    languages: &ServerPool,
    pattern: &SyntaxPattern,
    until: Instant,
) -> Result<LanguageAnswer, QueryError> {
    let home = languages.home();
    let matches = run(home, pattern, None, until).await?;
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let places = matches.into_iter().map(|found| SourceLocation {
        path: source::display_path(&home.project, &found.file),
        line: number(found.line + 1),
        column: number(found.column + 1),
        source: Some(cut(found.first_line.trim())),
    });
    Ok(LanguageAnswer::Matches(bounded(places.collect(), None)))
}

/// Plans the edits of a replacement.
pub(super) async fn replace(
    languages: &ServerPool,
    pattern: &SyntaxPattern,
    rewrite: &str,
    until: Instant,
) -> Result<EditPlan, QueryError> {
    let home = languages.home().clone();
    let mut files: BTreeMap<PathBuf, Vec<(usize, usize, String)>> = BTreeMap::new();
    for found in run(&home, pattern, Some(rewrite), until).await? {
        files.entry(found.file).or_default().extend(found.replacement);
    }
    blocking(move || {
        let files = files.into_iter().map(|(path, found)| {
            (path, move |text: &IndexedText, mark_bytes: usize| {
                Ok(outermost(text, mark_bytes, found))
            })
        });
        EditPlan::new(&home, files)
    })
    .await
}

/// The replacements without those nested in another. Nested matches are found again in the result.
fn outermost(text: &IndexedText, mark_bytes: usize, mut found: Vec<(usize, usize, String)>) -> Vec<Replacement> {
    found.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
    let mut kept: Vec<Replacement> = Vec::new();
    for (start, end, with) in found {
        let (start, end) = (start.saturating_sub(mark_bytes), end.saturating_sub(mark_bytes));
        if kept.last().is_none_or(|last| last.end <= start) && end <= text.as_str().len() {
            kept.push(Replacement { start, end, text: with });
        }
    }
    kept
}

async fn run(
    home: &Home,
    pattern: &SyntaxPattern,
    rewrite: Option<&str>,
    until: Instant,
) -> Result<Vec<SyntaxMatch>, QueryError> {
    if pattern.pattern.trim().is_empty() {
        return Err(QueryError::NoPattern);
    }
    // Each option is one argument, since a pattern may begin with a dash.
    let mut args = vec!["run".to_owned(), "--json=stream".to_owned(), "--color=never".to_owned()];
    args.push(format!("--pattern={}", pattern.pattern));
    args.extend(pattern.language.iter().map(|language| format!("--lang={language}")));
    args.extend(rewrite.map(|rewrite| format!("--rewrite={rewrite}")));
    args.push("--".to_owned());
    let (place, named) = (home.clone(), pattern.path.clone().unwrap_or_else(|| ".".to_owned()));
    let path = blocking(move || {
        confined(&place, || resolve(&place.project, &named)).unwrap_or_else(|error| {
            Err(QueryError::Unreadable {
                file: named.clone(),
                why: with_causes(&error),
            })
        })
    });
    args.push(path.await?.to_string_lossy().into_owned());
    let (printed, end) = printed(home, args, until).await?;
    let matches = printed
        .stdout
        .split(|byte| *byte == b'\n')
        .filter_map(|line| read(home, line));
    let matches: Vec<SyntaxMatch> = matches.take(MATCHES).collect();
    let is_cut = printed.stdout.len() >= OUTPUT_BYTES;
    match (&end, matches.is_empty()) {
        // Edits are made at all places or at none.
        _ if is_cut && rewrite.is_some() => Err(QueryError::TooManyMatches),
        // As with grep, exit code 1 means no match. Code 0 without a match comes with a warning about the pattern.
        (ChildEnd::Exited(Exit::Code { code: 0 }), true) => {
            printed.complaint().map_or(Ok(matches), |why| Err(refused(why)))
        }
        (ChildEnd::Exited(Exit::Code { code: 0 | 1 }), _) => Ok(matches),
        (_, false) if is_cut => Ok(matches),
        (_, _) => Err(refused(printed.complaint().unwrap_or_else(|| format!("{end:?}")))),
    }
}

fn refused(why: String) -> QueryError {
    QueryError::Refused {
        server: AST_GREP.to_owned(),
        why,
    }
}

fn read(home: &Home, line: &[u8]) -> Option<SyntaxMatch> {
    let found: Value = serde_json::from_slice(line).ok()?;
    let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
    let start = &found["range"]["start"];
    let offsets = &found["replacementOffsets"];
    let replacement = found["replacement"]
        .as_str()
        .and_then(|text| Some((number(&offsets["start"])?, number(&offsets["end"])?, text.to_owned())));
    let lines = found["lines"].as_str()?.lines().next().unwrap_or_default();
    // The program counts a byte order mark as a character of the first line.
    let (marks, first_line) = lines.strip_prefix(MARK).map_or((0, lines), |rest| (1, rest));
    Some(SyntaxMatch {
        file: home.project.join(found["file"].as_str()?),
        line: number(&start["line"])?,
        column: number(&start["column"])?.saturating_sub(marks),
        first_line: first_line.to_owned(),
        replacement,
    })
}

#[derive(Default)]
struct AstGrepOutput {
    stdout: Vec<u8>,
    stderr: String,
}

impl AstGrepOutput {
    fn take(&mut self, printed: Printed<'_>) {
        match printed {
            Printed::Stdout(bytes) => {
                let room = OUTPUT_BYTES.saturating_sub(self.stdout.len());
                self.stdout.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Printed::Line(line) => self.line(line),
            Printed::Lines(lines) => lines.lines().for_each(|line| self.line(line)),
            Printed::Terminal(_) => {}
        }
    }

    fn line(&mut self, line: &str) {
        if self.stderr.len() < STDERR_BYTES {
            self.stderr.push_str(line);
            self.stderr.push('\n');
        }
    }

    /// The program's error message.
    fn complaint(&self) -> Option<String> {
        // Earlier lines concern its installation.
        let is_told = |line: &str| {
            let line = line.to_ascii_lowercase();
            line.starts_with("error") || line.starts_with("warning")
        };
        let lines = self.stderr.lines().map(str::trim).skip_while(|line| !is_told(line));
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("See also"));
        let text = clip(&one_line(&lines.take(5).collect::<Vec<_>>().join(" ")), 400);
        (!text.is_empty()).then_some(text)
    }
}

async fn printed(home: &Home, args: Vec<String>, until: Instant) -> Result<(AstGrepOutput, ChildEnd), QueryError> {
    let not_started = |why: String| QueryError::NotStarted {
        server: AST_GREP.to_owned(),
        why,
    };
    let output = Arc::new(Mutex::new(AstGrepOutput::default()));
    let collected = Arc::clone(&output);
    let (sink, ended) = collector(move |printed| {
        collected.lock().take(printed);
    });
    let home = home.clone();
    let starting = inherited(move || {
        let program = which::which_in(AST_GREP, std::env::var_os("PATH"), &home.project);
        let program = program.map_err(|_| format!("`{AST_GREP}` is not on PATH"))?;
        let launch = home.launch(program, &args, GRACE);
        let child = home.supervisor.spawn(launch, sink);
        child.map(Arc::new).map_err(|error| with_causes(&error))
    });
    let child = spawn_blocking(starting)
        .await
        .map_err(|error| not_started(error.to_string()))?;
    let child = child.map_err(not_started)?;
    match timeout_at(until.into(), ended).await {
        Ok(Ok(end)) => Ok((std::mem::take(&mut *output.lock()), end)),
        Ok(Err(_)) => Err(QueryError::Closed),
        Err(_) => {
            child.stop(StopSpeed::Immediate);
            Err(QueryError::Late {
                still: Indexing {
                    server: AST_GREP.to_owned(),
                    doing: None,
                },
                after_ms: 0,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_replacements_within_each_other_the_outer_one_is_made() {
        let text = IndexedText::new("f(f(a)) f(b)".to_owned());
        let found = vec![
            (2, 6, "g".to_owned()),
            (0, 7, "h".to_owned()),
            (8, 12, "i".to_owned()),
            (90, 99, "j".to_owned()),
        ];
        let kept = outermost(&text, 0, found);
        let kept: Vec<_> = kept
            .iter()
            .map(|replacement| (replacement.start, &*replacement.text))
            .collect();
        assert_eq!(kept, [(0, "h"), (8, "i")]);
    }
}
