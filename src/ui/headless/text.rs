//! Text for people: one line per loop event, the transcript between them, a summary at the end.

use std::io::{self, Write};

use crate::{
    driver::UiEvent,
    event::{Event, Limits, Record, Settings},
    run::RunView,
    text::{Form, Keep, PlainText, one_line},
    ui::report::{Report, Style, write_head},
    words::{Tone, agent_with_channel, counted, narrate, short_count},
};

/// Sets the lines of a transcript apart from those of the loop.
const GUTTER: &str = "│ ";

/// Turns messages into text.
#[derive(Debug)]
pub struct TextPrinter {
    style: Style,
    view: RunView,
    plain: PlainText,
}

impl TextPrinter {
    pub fn new(style: Style) -> Self {
        Self {
            style,
            view: RunView::default(),
            plain: PlainText::new(keep(style)),
        }
    }

    /// Writes what `message` looks like.
    ///
    /// # Errors
    /// Whatever `out` says.
    pub fn show(&mut self, event: &UiEvent, out: &mut dyn Write) -> io::Result<()> {
        match event {
            UiEvent::Record(record) => self.record(record, out),
            UiEvent::Output(bytes) => self.output(bytes, out),
            // The transcript has shown it, and lines have no size.
            UiEvent::Detail(_) | UiEvent::Resized(_) => Ok(()),
            UiEvent::Skipped { bytes } => {
                let text = format!("[{} bytes of output are only in the recording]", short_count(*bytes));
                writeln!(out, "{}{}", self.gutter(), self.style.paint("2", &text))
            }
        }
    }

    fn record(&mut self, record: &Record, out: &mut dyn Write) -> io::Result<()> {
        self.view.apply(record);
        match &record.event {
            Event::IterationEnded { .. } => self.finish_output(out)?,
            Event::RunStarted { settings, .. } | Event::RunResumed { settings, .. } => {
                self.head(settings, out)?;
            }
            Event::RunStopped { .. } => {
                self.finish_output(out)?;
                writeln!(out)?;
                return write_head(&Report::of(&self.view), self.style, out);
            }
            Event::PlanRead { .. } => {
                let (done, open) = (self.view.plan.done(), self.view.plan.open() as u64);
                let text = format!("plan: {} open, {done} done", counted(open, "task"));
                return self.line(record.at_ms, "2", "·", &text, out);
            }
            _ => {}
        }
        let Some(line) = narrate(&record.event, clock_time) else {
            return Ok(());
        };
        let (code, sign) = match line.tone {
            Tone::Start => ("1;36", "▶"),
            Tone::Good => ("32", "✔"),
            Tone::Bad => ("31", "✖"),
            Tone::Wait => ("33", "…"),
            Tone::User => ("35", "»"),
            Tone::Note => ("2", "·"),
        };
        self.line(record.at_ms, code, sign, &one_line(&line.text), out)
    }

    fn line(&self, at_ms: u64, code: &str, sign: &str, text: &str, out: &mut dyn Write) -> io::Result<()> {
        let time = self.style.paint("2", &clock_time(at_ms));
        writeln!(out, "{time} {}", self.style.paint(code, &format!("{sign} {text}")))
    }

    fn head(&self, settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let model = settings
            .model
            .as_ref()
            .map(|model| format!(" · {model}"))
            .unwrap_or_default();
        let agent = agent_with_channel(&settings.adapter, self.view.channel());
        let title = format!("ralph {version} · {agent}{model} · {}", settings.plan.display());
        writeln!(out, "{}", self.style.paint("1", &one_line(&title)))?;
        writeln!(
            out,
            "{}",
            self.style
                .paint("2", &format!("limits: {}", limits_in_words(&settings.limits)))
        )
    }

    fn output(&mut self, bytes: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let gutter = self.gutter();
        let mut result = Ok(());
        self.plain.feed(bytes, |line| {
            if result.is_ok() {
                result = writeln!(out, "{gutter}{line}");
            }
        });
        result
    }

    /// Writes a last line that had no end, and starts the next session with a clean slate.
    fn finish_output(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let gutter = self.gutter();
        let mut result = Ok(());
        let mut plain = std::mem::replace(&mut self.plain, PlainText::new(keep(self.style)));
        plain.finish(|line| result = writeln!(out, "{gutter}{line}"));
        result
    }

    fn gutter(&self) -> String {
        self.style.paint("2", GUTTER)
    }
}

fn keep(style: Style) -> Keep {
    match style.form() {
        Form::Coloured => Keep::Colour,
        Form::Plain | Form::Json => Keep::Nothing,
    }
}

/// The effective limits, so that nobody is surprised by one, or by its absence.
fn limits_in_words(limits: &Limits) -> String {
    let unlimited = |what: &str| format!("unlimited {what}");
    let time = |limit: Option<u64>, what: &str| match limit {
        Some(limit_ms) => format!("{} {what}", crate::config::format_duration(limit_ms)),
        None => unlimited(what),
    };
    let mut parts = vec![
        match limits.max_iterations {
            Some(max) => counted(u64::from(max), "iteration"),
            None => unlimited("iterations"),
        },
        time(limits.max_time_ms, "in all"),
        time(limits.iteration_timeout_ms, "each"),
        time(limits.idle_timeout_ms, "idle"),
    ];
    parts.extend(limits.max_cost_usd.map(|max| format!("${max}")));
    parts.extend(limits.max_tokens.map(|max| format!("{} tokens", short_count(max))));
    parts.extend(
        limits
            .calls_per_hour
            .map(|max| format!("{} per hour", counted(u64::from(max), "call"))),
    );
    parts.join(" · ")
}

/// The time of day on the user's clock.
fn clock_time(at_ms: u64) -> String {
    let Ok(at_ms) = i64::try_from(at_ms) else {
        return "--:--:--".to_owned();
    };
    match jiff::Timestamp::from_millisecond(at_ms) {
        Ok(at) => at
            .to_zoned(jiff::tz::TimeZone::system())
            .strftime("%H:%M:%S")
            .to_string(),
        Err(_) => "--:--:--".to_owned(),
    }
}
