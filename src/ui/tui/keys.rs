//! The keys: one table, from which both the dispatch and the help are made. Pure.

use crossterm::event::{KeyCode, KeyModifiers};

use super::model::Pane;

/// What a key in the table does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Steer,
    PauseOrResume,
    StopAfterIteration,
    Skip,
    RetryNow,
    Type,
    /// Bring back a question that was left for later.
    Answer,
    NextPane,
    Show(Pane),
    Search,
    /// The next match, in the direction of the search: older.
    NextMatch,
    PreviousMatch,
    LineUp,
    LineDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    Back,
    Withdraw,
    PreviousIteration,
    NextIteration,
    Slower,
    Faster,
    Help,
    Redraw,
    Suspend,
    Interrupt,
    Quit,
}

/// When a binding counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// Only while a loop runs.
    Live,
    /// Only in `ralph replay`.
    Replay,
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chord {
    pub code: KeyCode,
    pub modifiers: KeyModifiers,
}

pub struct Binding {
    pub keys: &'static [Chord],
    pub action: Action,
    pub when: When,
    /// For the footer, where there is room; empty for none.
    pub hint: &'static str,
    /// For the help.
    pub about: &'static str,
}

const fn key(code: KeyCode) -> Chord {
    Chord {
        code,
        modifiers: KeyModifiers::NONE,
    }
}

const fn char(character: char) -> Chord {
    key(KeyCode::Char(character))
}

const fn ctrl(character: char) -> Chord {
    Chord {
        code: KeyCode::Char(character),
        modifiers: KeyModifiers::CONTROL,
    }
}

const fn row(keys: &'static [Chord], action: Action, when: When, hint: &'static str, about: &'static str) -> Binding {
    Binding {
        keys,
        action,
        when,
        hint,
        about,
    }
}

/// Every key there is outside of a line that is typed. Where a key has two meanings, the first that counts is taken.
#[rustfmt::skip]
pub const TABLE: &[Binding] = &[
    row(&[char(':')], Action::Steer, When::Live, "steer", "message the agent (`!` now, `+` every prompt); resumes an ended run"),
    row(&[char('p')], Action::PauseOrResume, When::Live, "pause", "pause after this iteration; again to resume"),
    row(&[char('s')], Action::StopAfterIteration, When::Live, "stop after", "stop when this iteration is finished"),
    row(&[char('S')], Action::Skip, When::Live, "skip", "end this iteration and start the next; asks first"),
    row(&[char('r')], Action::RetryNow, When::Live, "", "end a wait and try again now"),
    row(&[char('i')], Action::Type, When::Live, "", "type into the agent's terminal; Ctrl-] leaves"),
    row(&[char('a')], Action::Answer, When::Live, "", "answer what the agent asks"),
    row(&[char('p'), char(' ')], Action::PauseOrResume, When::Replay, "pause", "pause the replay; again to resume"),
    row(&[char('+'), char('=')], Action::Faster, When::Replay, "faster", "play twice as fast"),
    row(&[char('-')], Action::Slower, When::Replay, "slower", "play half as fast"),
    row(&[char(']')], Action::NextIteration, When::Replay, "next", "go to the next iteration"),
    row(&[char('['), char('b')], Action::PreviousIteration, When::Replay, "back", "go to the iteration before"),
    row(&[key(KeyCode::Tab)], Action::NextPane, When::Always, "", "terminal, log, terminal, …"),
    row(&[char('t')], Action::Show(Pane::Terminal), When::Always, "", "the agent's terminal"),
    row(&[char('l')], Action::Show(Pane::Log), When::Always, "log", "event log"),
    row(&[char('d')], Action::Show(Pane::Diff), When::Always, "diff", "what this iteration changed; again to refresh"),
    row(&[char('h')], Action::Show(Pane::History), When::Always, "history", "the iterations so far"),
    row(&[char('P')], Action::Show(Pane::Asks), When::Always, "asks", "what the agent asks and asked; Enter answers or shows it"),
    row(&[char('m')], Action::Show(Pane::Messages), When::Always, "", "your messages and what became of them"),
    row(&[char('c')], Action::Show(Pane::Limits), When::Always, "", "limits, how much of them is used, settings"),
    row(&[char('/')], Action::Search, When::Always, "", "search backwards; Enter goes to the match, Esc leaves"),
    row(&[char('n')], Action::NextMatch, When::Always, "", "the next match (older)"),
    row(&[char('N')], Action::PreviousMatch, When::Always, "", "the previous match (newer)"),
    row(&[key(KeyCode::Up), char('k')], Action::LineUp, When::Always, "", "a line up"),
    row(&[key(KeyCode::Down), char('j')], Action::LineDown, When::Always, "", "a line down"),
    row(&[key(KeyCode::PageUp), ctrl('b')], Action::PageUp, When::Always, "", "a page up"),
    row(&[key(KeyCode::PageDown), ctrl('f')], Action::PageDown, When::Always, "", "a page down"),
    row(&[char('g'), key(KeyCode::Home)], Action::Top, When::Always, "", "to the beginning"),
    row(&[char('G'), key(KeyCode::End)], Action::Bottom, When::Always, "", "to the end, and follow it"),
    row(&[key(KeyCode::Enter)], Action::Open, When::Always, "", "in the history: the transcript of the iteration"),
    row(&[key(KeyCode::Esc)], Action::Back, When::Always, "", "back to the terminal"),
    row(&[char('x')], Action::Withdraw, When::Live, "", "in the messages: take one back"),
    row(&[char('?'), key(KeyCode::F(1))], Action::Help, When::Always, "help", "these keys"),
    row(&[ctrl('l')], Action::Redraw, When::Always, "", "redraw the screen"),
    row(&[ctrl('z')], Action::Suspend, When::Always, "", "back to the shell; `fg` returns"),
    row(&[ctrl('c')], Action::Interrupt, When::Always, "", "stop gracefully; twice to force"),
    row(&[char('q')], Action::Quit, When::Always, "quit", "leave; asks whether to detach or stop while the run is not over"),
];

/// Finds what a key does.
pub fn action(chord: Chord, replay: bool) -> Option<Action> {
    TABLE
        .iter()
        .filter(|binding| counts(binding.when, replay))
        .find(|binding| binding.keys.contains(&chord))
        .map(|binding| binding.action)
}

/// The bindings that count, in the order of the table.
pub fn bindings(replay: bool) -> impl Iterator<Item = &'static Binding> {
    TABLE.iter().filter(move |binding| counts(binding.when, replay))
}

fn counts(when: When, replay: bool) -> bool {
    match when {
        When::Always => true,
        When::Live => !replay,
        When::Replay => replay,
    }
}

impl Chord {
    /// Takes a key as it was pressed; the shift that made a capital letter is in the letter.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let modifiers = match code {
            KeyCode::Char(_) => modifiers - KeyModifiers::SHIFT,
            _ => modifiers,
        };
        Self { code, modifiers }
    }

    /// The key in words: `Ctrl-C`, `PgUp`, `g`.
    pub fn name(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "Space".to_owned(),
            KeyCode::Char(character) if self.modifiers.contains(KeyModifiers::CONTROL) => {
                character.to_uppercase().collect()
            }
            KeyCode::Char(character) => character.to_string(),
            KeyCode::PageUp => "PgUp".to_owned(),
            KeyCode::PageDown => "PgDn".to_owned(),
            KeyCode::F(number) => format!("F{number}"),
            other => format!("{other:?}"),
        };
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            format!("Ctrl-{name}")
        } else {
            name
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        for replay in [false, true] {
            let keys: Vec<Chord> = bindings(replay).flat_map(|binding| binding.keys).copied().collect();
            for (at, key) in keys.iter().enumerate() {
                assert!(!keys[..at].contains(key), "{} twice", key.name());
            }
        }
    }

    #[test]
    fn a_shifted_letter_is_that_letter() {
        let chord = Chord::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        assert_eq!(action(chord, false), Some(Action::Bottom));
        assert_eq!(Chord::new(KeyCode::Char('c'), KeyModifiers::CONTROL).name(), "Ctrl-C");
    }
}
