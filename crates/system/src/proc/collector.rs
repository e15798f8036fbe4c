//! Hands a child's whole output to a function, and sends its end.

use ralph_text::{KeptEscapes, PlainLines, PlainText};
use tokio::sync::oneshot;

use super::{ChildEnd, OutputSink};

/// A piece of a child's output.
#[derive(Debug, Clone, Copy)]
pub enum Printed<'a> {
    /// Bytes of its terminal, before their lines.
    Terminal(&'a [u8]),
    /// A line of its terminal as plain text.
    Line(&'a str),
    /// Lines of its terminal that are plain text already, with their ends.
    Lines(&'a str),
    /// Bytes of its stdout, if that is piped.
    Stdout(&'a [u8]),
}

struct Collector<F> {
    plain: PlainText,
    take: F,
    sender: Option<oneshot::Sender<ChildEnd>>,
}

/// Makes an output that calls `take` on the child's reader thread. The receiver gets the child's end after all output;
/// `take` exists until then, even if the end is no longer awaited.
pub fn collector<F>(take: F) -> (Box<dyn OutputSink>, oneshot::Receiver<ChildEnd>)
where
    F: FnMut(Printed<'_>) + Send + 'static,
{
    let (sender, ended) = oneshot::channel();
    let collector = Collector {
        plain: PlainText::new(KeptEscapes::Nothing),
        take,
        sender: Some(sender),
    };
    (Box::new(collector), ended)
}

impl<F: FnMut(Printed<'_>) + Send + 'static> OutputSink for Collector<F> {
    fn terminal(&mut self, bytes: &[u8]) {
        let Self { plain, take, .. } = self;
        take(Printed::Terminal(bytes));
        plain.feed_blocks(bytes, |lines| match lines {
            PlainLines::One(line) => take(Printed::Line(line)),
            PlainLines::AsIs(lines) => take(Printed::Lines(lines)),
        });
    }

    fn stdout(&mut self, bytes: &[u8]) {
        (self.take)(Printed::Stdout(bytes));
    }

    fn ended(&mut self, end: ChildEnd) {
        let Self { plain, take, sender } = self;
        plain.finish(|line| take(Printed::Line(line)));
        if let Some(sender) = sender.take() {
            _ = sender.send(end); // the receiver may have been dropped
        }
    }
}
