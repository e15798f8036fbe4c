//! Text for people: one line per loop event, the transcript between them, a summary at the end.

use std::{
    borrow::Cow,
    io::{self, Write},
};

use ralph_core::{
    event::{Event, IterationEvent, LimitKind, Limits, PlanEvent, Record, RunEvent, Settings},
    run::RunView,
};
use ralph_state::control::frames::UiEvent;
use ralph_text::{
    AllowedEscapes, KeptEscapes, PlainText, RESET, one_line,
    wrap::{UnfinishedWord, Wrapper},
};
use ralph_ui::report::{OutputStyle, RunReport, write_head};
use ralph_words::{Tone, agent_with_channel, counted, date_ahead, narrate, short_count};

/// Distinguishes lines of the transcript from those of the loop.
const GUTTER: &str = "│ ";
const GUTTER_COLUMNS: u16 = 2;
/// Width of the time, the sign and the blanks after them.
const LINE_HEAD_COLUMNS: u16 = 11;
const LIMITS: &str = "limits: ";
/// A smaller reported width is wrong, or leaves no room for words.
const LEAST_COLUMNS: u16 = 20;

/// When a line of the transcript is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Once it is complete: readers of a pipe or a build log expect whole lines.
    Lines,
    /// As it arrives, for a user who watches.
    AsWritten,
}

/// Turns events into text.
#[derive(Debug)]
pub struct TextPrinter {
    style: OutputStyle,
    pace: Pace,
    view: RunView,
    plain: PlainText,
    begun: PartialLine,
}

/// A partly written line of the transcript.
#[derive(Debug, Default)]
struct PartialLine {
    /// The part already written.
    text: String,
    /// The colours in force after that part.
    colours: String,
    /// Whether the cursor is still at the end of that part; false after a line of the loop was printed.
    is_open: bool,
}

impl TextPrinter {
    pub fn new(style: OutputStyle, pace: Pace) -> Self {
        Self {
            style,
            pace,
            view: RunView::default(),
            plain: PlainText::new(keep(style)),
            begun: PartialLine::default(),
        }
    }

    /// Counts what `past` has, which is not printed again.
    pub fn after(mut self, past: RunView) -> Self {
        self.view = past;
        self
    }

    /// Writes `event` as text.
    ///
    /// # Errors
    /// Errors of writing to `out`.
    pub fn show(&mut self, event: &UiEvent, out: &mut dyn Write) -> io::Result<()> {
        match event {
            UiEvent::Record(record) => self.record(record, out),
            UiEvent::Output(bytes) => self.output(bytes, out),
            // The transcript already contains details, and lines have no size.
            UiEvent::Detail(_) | UiEvent::Resized(_) => Ok(()),
            UiEvent::Skipped { bytes } => {
                self.begun.interrupt(out)?;
                let text = format!("[{} bytes of output are only in the recording]", short_count(*bytes));
                writeln!(out, "{}{}", self.gutter(), self.style.paint("2", &text))
            }
        }
    }

    fn record(&mut self, record: &Record, out: &mut dyn Write) -> io::Result<()> {
        self.view.apply(record);
        match &record.event {
            Event::Iteration(IterationEvent::Ended { .. }) => self.finish_output(out)?,
            Event::Run(RunEvent::Started { settings, .. }) | Event::Run(RunEvent::Resumed { settings, .. }) => {
                self.head(settings, out)?;
            }
            Event::Run(RunEvent::Stopped { .. }) => {
                self.finish_output(out)?;
                self.begun.interrupt(out)?;
                writeln!(out)?;
                return write_head(&RunReport::from_view(self.view.clone()), self.style, out);
            }
            Event::Plan(PlanEvent::Read { .. }) | Event::Plan(PlanEvent::Changed { .. }) => {
                let (done, open) = (self.view.plan.done(), self.view.plan.open() as u64);
                let text = format!("plan: {} open, {done} done", counted(open, "task"));
                return self.line(record.at_ms, "2", "·", &text, out);
            }
            _ => {}
        }
        let Some(line) = narrate(&record.event, |at_ms| moment(at_ms, record.at_ms)) else {
            return Ok(());
        };
        let (code, sign) = code_and_sign(line.tone);
        self.line(record.at_ms, code, sign, &one_line(&line.text), out)
    }

    fn line(&mut self, at_ms: u64, code: &str, sign: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
        self.begun.interrupt(out)?;
        let time = self.style.paint("2", &clock_time(at_ms));
        let text = below(self.style, LINE_HEAD_COLUMNS).whole(text);
        writeln!(out, "{time} {}", self.style.paint(code, &format!("{sign} {text}")))
    }

    fn head(&mut self, settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
        self.begun.interrupt(out)?;
        let version = env!("CARGO_PKG_VERSION");
        let model = settings
            .model
            .as_ref()
            .map(|model| format!(" · {model}"))
            .unwrap_or_default();
        let agent = agent_with_channel(&settings.adapter, self.view.channel());
        let title = format!("ralph {version} · {agent}{model} · {}", settings.plan.display());
        writeln!(out, "{}", self.style.paint("1", &one_line(&title)))?;
        let limits = limits_in_words(&settings.limits);
        let limits = below(self.style, LIMITS.len() as u16).whole(&limits).into_owned();
        writeln!(out, "{}", self.style.paint("2", &format!("{LIMITS}{limits}")))
    }

    fn output(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let gutter = self.gutter();
        let fit = self.fit_of_output(&gutter);
        let mut result = Ok(());
        let begun = &mut self.begun;
        self.plain.feed(bytes, |line| {
            if result.is_ok() {
                result = begun.complete(&fit.whole(line), &gutter, out);
            }
        });
        result?;
        match (self.pace, self.plain.partial()) {
            (Pace::AsWritten, Some(partial)) => {
                let partial = fit.begun(partial);
                self.begun.write(&partial, &gutter, self.plain.open_colours(), out)
            }
            (Pace::AsWritten, None) | (Pace::Lines, _) => Ok(()),
        }
    }

    /// Writes an unterminated last line and resets the state for the next session.
    fn finish_output(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let gutter = self.gutter();
        let fit = self.fit_of_output(&gutter);
        let mut result = Ok(());
        let mut plain = std::mem::replace(&mut self.plain, PlainText::new(keep(self.style)));
        plain.finish(|line| result = self.begun.complete(&fit.whole(line), &gutter, out));
        result?;
        self.begun.interrupt(out)?;
        self.begun = PartialLine::default();
        Ok(())
    }

    fn gutter(&self) -> String {
        self.style.paint("2", GUTTER)
    }

    fn fit_of_output(&self, gutter: &str) -> LineWrapping {
        LineWrapping::beside(self.style, GUTTER_COLUMNS, gutter)
    }
}

/// Wraps lines to the width of a terminal. Files and pipes get unwrapped lines.
struct LineWrapping {
    columns: Option<usize>,
    line_end: String,
}

impl LineWrapping {
    /// Wraps beside `lead`, which takes `columns` columns of each line.
    fn beside(style: OutputStyle, columns: u16, lead: &str) -> Self {
        Self {
            columns: style
                .columns
                .filter(|all| *all >= LEAST_COLUMNS)
                .map(|all| usize::from(all - columns)),
            line_end: format!("\n{lead}"),
        }
    }

    fn whole<'a>(&self, line: &'a str) -> Cow<'a, str> {
        self.wrapped(line, Wrapper::finish)
    }

    /// Wraps an incomplete line, without its last word, which may not fit. The wrapped whole line begins with this
    /// text.
    fn begun<'a>(&self, line: &'a str) -> Cow<'a, str> {
        self.wrapped(line, |_, _| {})
    }

    fn wrapped<'a>(&self, line: &'a str, end: impl FnOnce(&mut Wrapper, &mut Vec<u8>)) -> Cow<'a, str> {
        let Some(columns) = self.columns else {
            return Cow::Borrowed(line);
        };
        let mut wrapper = Wrapper::new(columns, UnfinishedWord::Waits, &self.line_end);
        let mut out = Vec::with_capacity(line.len() + line.len() / 8);
        wrapper.feed(line.as_bytes(), &mut out);
        end(&mut wrapper, &mut out);
        Cow::Owned(String::from_utf8_lossy(&out).into_owned())
    }
}

/// Wraps with an indentation of `columns` columns.
fn below(style: OutputStyle, columns: u16) -> LineWrapping {
    LineWrapping::beside(style, columns, &" ".repeat(usize::from(columns)))
}

impl PartialLine {
    /// Writes the part of `text` that is not written yet.
    fn write(&mut self, text: &str, gutter: &str, colours: &str, out: &mut dyn Write) -> io::Result<()> {
        // The line has changed in its written part, which cannot be taken back.
        let Some(rest) = text.strip_prefix(self.text.as_str()) else {
            return Ok(());
        };
        if rest.is_empty() {
            return Ok(());
        }
        match (self.is_open, self.text.is_empty()) {
            (true, _) => write!(out, "{rest}")?,
            (false, true) => write!(out, "{gutter}{rest}")?,
            (false, false) => write!(out, "{gutter}{}{rest}", self.colours)?,
        }
        self.is_open = true;
        self.text.push_str(rest);
        colours.clone_into(&mut self.colours);
        Ok(())
    }

    /// Writes the rest of a complete line.
    fn complete(&mut self, line: &str, gutter: &str, out: &mut dyn Write) -> io::Result<()> {
        let written = std::mem::take(&mut self.text);
        let is_open = std::mem::take(&mut self.is_open);
        match line.strip_prefix(written.as_str()) {
            Some(rest) if is_open => writeln!(out, "{rest}"),
            // The line was already written in full before an interruption.
            Some("" | RESET) if !written.is_empty() => Ok(()),
            Some(rest) if !written.is_empty() => writeln!(out, "{gutter}{}{rest}", self.colours),
            Some(rest) => writeln!(out, "{gutter}{rest}"),
            None if is_open => writeln!(out, "\n{gutter}{line}"),
            None => writeln!(out, "{gutter}{line}"),
        }
    }

    /// Ends an incomplete line with a newline so that another line can be written; the rest follows below that.
    fn interrupt(&mut self, out: &mut dyn Write) -> io::Result<()> {
        match std::mem::take(&mut self.is_open) {
            true => writeln!(out),
            false => Ok(()),
        }
    }
}

/// The SGR code and the leading sign of a line.
pub(crate) fn code_and_sign(tone: Tone) -> (&'static str, &'static str) {
    match tone {
        Tone::Start => ("1;36", "▶"),
        Tone::Good => ("32", "✔"),
        Tone::Bad => ("31", "✖"),
        Tone::Warning => ("33", "!"),
        Tone::Wait => ("33", "…"),
        Tone::User => ("35", "»"),
        Tone::Note => ("2", "·"),
    }
}

fn keep(style: OutputStyle) -> KeptEscapes {
    match style.form() {
        AllowedEscapes::Coloured => KeptEscapes::Colour,
        AllowedEscapes::Plain | AllowedEscapes::Json => KeptEscapes::Nothing,
    }
}

/// The effective limits of a run on one line, absent ones included, so that no user is surprised.
pub(crate) fn limits_in_words(limits: &Limits) -> String {
    let time = |limit: Option<u64>, what: &str| match limit {
        Some(limit_ms) => format!("{} {what}", crate::config::format_duration(limit_ms)),
        None => format!("unlimited {what}"),
    };
    let mut parts = Vec::new();
    for (limit, text) in ralph_words::limits_in_words(limits) {
        parts.push(text);
        if limit == LimitKind::MaxTime {
            parts.push(time(limits.iteration_timeout_ms, "per iteration"));
            parts.push(time(limits.idle_timeout_ms, "idle"));
        }
    }
    parts.join(" · ")
}

/// The time of day in the user's time zone.
fn clock_time(at_ms: u64) -> String {
    moment(at_ms, at_ms)
}

/// Like [`clock_time`], with the date if the moment is days away from `now_ms`.
pub(crate) fn moment(at_ms: u64, now_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok();
    let Some(at) = at.and_then(|at_ms| jiff::Timestamp::from_millisecond(at_ms).ok()) else {
        return "--:--:--".to_owned();
    };
    let zone = jiff::tz::TimeZone::system();
    let date = date_ahead(at_ms, now_ms, i64::from(zone.to_offset(at).seconds()));
    format!("{date}{}", at.to_zoned(zone).strftime("%H:%M:%S"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::Notice;

    fn style(colour: bool) -> OutputStyle {
        OutputStyle {
            colour,
            ..OutputStyle::PLAIN
        }
    }

    /// Returns the text written for each event.
    fn written(printer: &mut TextPrinter, events: &[UiEvent]) -> Vec<String> {
        let each = events.iter().map(|event| {
            let mut out = Vec::new();
            printer.show(event, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        });
        each.collect()
    }

    fn output(text: &str) -> UiEvent {
        UiEvent::Output(text.as_bytes().to_vec())
    }

    fn noticed() -> UiEvent {
        let event = Event::Noticed {
            notice: Notice::warning(
                "goals-changed",
                "the goals are not those with which the run began; these count from now on",
            ),
        };
        let (seq, at_ms) = (1, 1);
        UiEvent::Record(Record { seq, at_ms, event }.into())
    }

    #[test]
    fn somebody_who_watches_reads_a_line_as_it_is_written_and_a_pipe_gets_it_whole() {
        let pieces = [
            output("I will r"),
            output("un the te"),
            output("sts.\nAnd"),
            output(" then\n"),
        ];
        let mut watched = TextPrinter::new(style(false), Pace::AsWritten);
        assert_eq!(
            written(&mut watched, &pieces),
            ["│ I will r", "un the te", "sts.\n│ And", " then\n"]
        );
        let mut piped = TextPrinter::new(style(false), Pace::Lines);
        let whole = ["", "", "│ I will run the tests.\n", "│ And then\n"];
        assert_eq!(written(&mut piped, &pieces), whole);
    }

    #[test]
    fn a_line_of_the_loop_comes_between_and_the_transcript_goes_on_below_it() {
        let mut watched = TextPrinter::new(style(false), Pace::AsWritten);
        let pieces = [
            output("half a "),
            noticed(),
            output("line"),
            noticed(),
            output("\nnext\n"),
        ];
        let shown = written(&mut watched, &pieces);
        assert!(shown[1].starts_with('\n') && shown[1].ends_with('\n'), "{shown:?}");
        assert_eq!((shown[0].as_str(), shown[2].as_str()), ("│ half a ", "│ line"));
        assert_eq!(shown[4], "│ next\n", "nothing of the first is left");
    }

    #[test]
    fn colours_go_on_where_a_line_was_interrupted_and_what_is_taken_back_is_written_anew() {
        let mut watched = TextPrinter::new(style(true), Pace::AsWritten);
        let shown = written(&mut watched, &[output("\x1b[31mred "), noticed(), output("still\n")]);
        let gutter = "\x1b[2m│ \x1b[0m";
        assert_eq!(shown[2], format!("{gutter}\x1b[31mstill\x1b[0m\n"));

        let mut progress = TextPrinter::new(style(false), Pace::AsWritten);
        let shown = written(
            &mut progress,
            &[output("10%"), output("\r50%"), output("\r100%"), output("\n")],
        );
        assert_eq!(shown, ["│ 10%", "", "", "\n│ 100%\n"]);
    }

    #[test]
    fn a_terminal_gets_words_whole_behind_the_gutter_and_a_pipe_gets_lines_as_they_are() {
        let style = |columns| OutputStyle {
            columns,
            ..OutputStyle::PLAIN
        };
        let pieces = [output("I will run the te"), output("sts and more.\n")];
        let mut watched = TextPrinter::new(style(Some(20)), Pace::AsWritten);
        assert_eq!(
            written(&mut watched, &pieces),
            ["│ I will run the", "\n│ tests and more.\n"]
        );
        let mut piped = TextPrinter::new(style(None), Pace::Lines);
        assert_eq!(written(&mut piped, &pieces), ["", "│ I will run the tests and more.\n"]);

        let mut unknown = TextPrinter::new(style(Some(0)), Pace::Lines);
        assert_eq!(
            written(&mut unknown, &pieces),
            ["", "│ I will run the tests and more.\n"]
        );

        let mut narrow = TextPrinter::new(style(Some(40)), Pace::Lines);
        let line = written(&mut narrow, &[noticed()]).concat();
        assert!(
            line.lines().count() > 1 && line.lines().all(|line| line.chars().count() <= 40),
            "{line}"
        );
        assert!(
            line.lines().skip(1).all(|line| line.starts_with("           ")),
            "{line}"
        );
    }

    #[test]
    fn wherever_the_output_is_cut_it_reads_the_same() {
        let text = "one\r\ntwo \x1b[32mgreen\n日本 e\u{301}🎉\x1b[0m\n10%\r20%\nlast";
        let ended = Event::Iteration(IterationEvent::Ended {
            iteration: 1,
            outcome: ralph_core::event::Outcome::Completed,
            exit: None,
            duration_ms: 1,
            output_bytes: 1,
        });
        let (seq, at_ms, event) = (1, 1, ended);
        let ended = UiEvent::Record(Record { seq, at_ms, event }.into());
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            let mut printer = TextPrinter::new(style(false), Pace::AsWritten);
            let pieces = [
                UiEvent::Output(head.to_vec()),
                UiEvent::Output(tail.to_vec()),
                ended.clone(),
            ];
            let all = written(&mut printer, &pieces).concat();
            for line in ["│ one\n", "│ two green\n", "│ 日本 e\u{301}🎉\n", "│ 20%\n", "│ last\n"] {
                assert_eq!(all.matches(line).count(), 1, "cut at {at}: {line:?} in {all:?}");
            }
        }
    }
}
