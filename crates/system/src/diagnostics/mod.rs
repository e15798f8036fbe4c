//! Diagnostics: `ralph.log` in the run's directory, which shows what ralph itself did and in which order.
//!
//! The journal is the record of the run; the log is attached to bug reports. Two rules hold for every logged event. A
//! log never costs the run: it is bounded, and lines that cannot be written are dropped. And a log holds no secrets:
//! events name kinds, programs, ids and durations, never a prompt, an output, an argument or a value of the
//! environment. [`kind`] logs the variant of a value without its content.
//!
//! There is no global subscriber, so that two runs in one process have a log each. The thread of the loop logs within
//! [`Diagnostics::scope`]; work that moves to another thread takes the log along with [`inherited`].

mod file;
mod filter;

use std::{
    fmt::{self, Debug, Display, Write},
    path::Path,
    sync::Arc,
};

use ralph_text::console;
use tracing::{Dispatch, Span, dispatcher};
use tracing_subscriber::{Registry, fmt::MakeWriter, layer::SubscriberExt};

use file::LogFile;

pub use filter::Filter;

/// The log of a run. Events before [`Diagnostics::write_to`] are kept until then.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    dispatch: Dispatch,
    file: Arc<LogFile>,
}

impl Diagnostics {
    /// Prepares the log of a run; with `echo`, each line goes to stderr as well.
    pub fn new(filter: &Filter, echo: bool) -> Diagnostics {
        let file = Arc::new(LogFile::default());
        let sink = LogSink {
            file: Arc::clone(&file),
            echo,
        };
        let lines = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(sink);
        let subscriber = Registry::default().with(filter.targets()).with(lines);
        Diagnostics {
            dispatch: Dispatch::new(subscriber),
            file,
        }
    }

    /// Appends to the file at `path` from now on.
    pub fn write_to(&self, path: &Path) {
        self.file.open(path);
    }

    /// Runs `work`; everything that this thread logs meanwhile goes to this log.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        dispatcher::with_default(&self.dispatch, work)
    }
}

/// Makes `work` log to this thread's log, in the same span, on whichever thread it runs.
pub fn inherited<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let dispatch = dispatcher::get_default(Dispatch::clone);
    let span = Span::current();
    move || dispatcher::with_default(&dispatch, || span.in_scope(work))
}

/// Displays the variant of a value without its content.
pub fn kind(value: &impl Debug) -> impl Display {
    VariantName(value)
}

struct VariantName<'a, T>(&'a T);

impl<T: Debug> Display for VariantName<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        _ = write!(FirstWord(f), "{:?}", self.0); // fails where the first word ends
        Ok(())
    }
}

/// Writes the name at the beginning of a derived `Debug` output, and fails at the first character after it.
struct FirstWord<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for FirstWord<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find(|character: char| !character.is_alphanumeric());
        self.0.write_str(&text[..end.unwrap_or(text.len())])?;
        match end {
            Some(_) => Err(fmt::Error),
            None => Ok(()),
        }
    }
}

/// Receives finished lines.
struct LogSink {
    file: Arc<LogFile>,
    echo: bool,
}

impl<'a> MakeWriter<'a> for LogSink {
    type Writer = &'a LogSink;

    fn make_writer(&'a self) -> &'a LogSink {
        self
    }
}

impl std::io::Write for &LogSink {
    /// Takes one line; the subscriber writes each with one call.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        self.file.append(line);
        if self.echo {
            console::complain(&String::from_utf8_lossy(line));
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    fn logged(filter: &str, work: impl FnOnce()) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ralph.log");
        let diagnostics = Diagnostics::new(&filter.parse().unwrap(), false);
        diagnostics.scope(|| {
            tracing::info!("before there is a file");
            diagnostics.write_to(&path);
            work();
        });
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn what_is_logged_before_there_is_a_file_is_in_it() {
        let log = logged("info", || tracing::info!("after"));
        let lines: Vec<&str> = log.lines().collect();
        assert_eq!(lines.len(), 2, "{log}");
        assert!(
            lines[0].ends_with("before there is a file") && lines[1].ends_with("after"),
            "{log}"
        );
    }

    #[test]
    fn a_level_for_one_module_leaves_the_others_as_they_are() {
        let log = logged("warn,diagnostics=debug,agent=debug", || {
            tracing::debug!("wanted");
            tracing::debug!(target: "ralph_agent::protocol", "of a package");
            tracing::info!(target: "ralph_git::take", "too much");
            tracing::info!(target: "ralph::driver", "too much");
            tracing::error!(target: "hyper_util", "another crate's");
        });
        assert!(log.contains("wanted") && log.contains("of a package"), "{log}");
        assert!(!log.contains("too much") && !log.contains("another"), "{log}");
    }

    #[test]
    fn work_on_another_thread_logs_to_the_same_file_in_the_same_span() {
        let log = logged("info", || {
            let work = tracing::info_span!("iteration", n = 3).in_scope(|| inherited(|| tracing::info!("there")));
            thread::spawn(work).join().unwrap();
            thread::spawn(|| tracing::info!("elsewhere")).join().unwrap();
        });
        assert!(log.contains("iteration{n=3}") && log.contains("there"), "{log}");
        assert!(!log.contains("elsewhere"), "{log}");
    }

    #[test]
    fn the_kind_of_a_value_has_nothing_of_what_is_in_it() {
        #[derive(Debug)]
        #[expect(dead_code, reason = "only shown")]
        enum Value {
            Plain,
            Tuple(&'static str),
            Named { text: &'static str },
        }
        let kinds = [Value::Plain, Value::Tuple("secret"), Value::Named { text: "secret" }];
        let kinds = kinds.map(|value| kind(&value).to_string());
        assert_eq!(kinds, ["Plain", "Tuple", "Named"]);
    }

    #[test]
    fn two_logs_in_one_process_are_apart() {
        let inner = std::cell::RefCell::new(String::new());
        let outer = logged("info", || {
            *inner.borrow_mut() = logged("info", || tracing::info!("inner"));
            tracing::info!("outer");
        });
        assert!(outer.contains("outer") && !outer.contains("inner"), "{outer}");
        assert!(inner.borrow().contains("inner"));
    }
}
