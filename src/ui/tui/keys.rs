//! The key bindings: one table for both the dispatch and the help. Pure.

use crossterm::event::{KeyCode, KeyModifiers};

use crate::driver::Unfold;

use super::{
    layout::Focus,
    model::{Pane, Ui},
};

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Steer,
    PauseOrResume,
    StopAfterIteration,
    Skip,
    RetryNow,
    Type,
    /// Reopen a question that was postponed.
    Answer,
    /// From the plan to the main area and back.
    NextFocus,
    FocusPlan,
    /// Give the focused area the room of both.
    Zoom,
    Show(Pane),
    Search,
    /// Go to the next match: the older one where the view follows the end, the one below elsewhere.
    NextMatch,
    PreviousMatch,
    Copy,
    /// Show only lines of the next kind.
    Filter,
    /// Open the shown text in the user's editor.
    Edit,
    LineUp,
    LineDown,
    PageUp,
    PageDown,
    Top,
    Bottom,
    Open,
    /// Fold or unfold the section of the chosen task.
    Fold,
    Back,
    Withdraw,
    CancelTask,
    PreviousFile,
    NextFile,
    Wrap,
    Leftwards,
    Rightwards,
    /// Compare with one iteration earlier, or one later.
    CompareEarlier,
    CompareLater,
    /// Show the previous or next part of an iteration.
    PreviousPart,
    NextPart,
    SeekBackward,
    SeekForward,
    /// Show folded parts of the transcript.
    Unfold(Unfold),
    /// Show the prompt of an iteration.
    Prompt,
    PreviousIteration,
    NextIteration,
    Slower,
    Faster,
    Help,
    /// List all actions by name.
    Palette,
    Redraw,
    Suspend,
    Interrupt,
    Quit,
}

/// When a binding applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    Always,
    /// Only while a loop runs.
    Live,
    /// Only in `ralph replay`.
    Replay,
}

/// The focus, where a key has a meaning of its own there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Plan,
    View(Pane),
}

/// Places of a binding that applies anywhere.
const ANYWHERE: &[Place] = &[];

/// Places where `[` and `]` are free: in the diff they select files.
const NOT_DIFF: &[Place] = &[
    Place::Plan,
    Place::View(Pane::Terminal),
    Place::View(Pane::Log),
    Place::View(Pane::History),
    Place::View(Pane::Messages),
    Place::View(Pane::Asks),
    Place::View(Pane::Limits),
    Place::View(Pane::Background),
    Place::View(Pane::Report),
];

/// Places where the left and right keys are free.
const NO_SIDES: &[Place] = &[
    Place::Plan,
    Place::View(Pane::Terminal),
    Place::View(Pane::Log),
    Place::View(Pane::Messages),
    Place::View(Pane::Asks),
    Place::View(Pane::Limits),
    Place::View(Pane::Background),
    Place::View(Pane::Report),
];

/// The state that selects the applicable bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Here {
    pub place: Place,
    pub replay: bool,
}

impl Here {
    pub fn of(ui: &Ui) -> Self {
        Self {
            place: Place::of(ui),
            replay: ui.replay.is_some(),
        }
    }
}

impl Place {
    pub fn of(ui: &Ui) -> Self {
        match ui.focus {
            Focus::Plan => Place::Plan,
            Focus::Main => Place::View(ui.pane),
        }
    }
}

/// Groups of bindings, in the order of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Control,
    Views,
    Move,
    Find,
    Other,
}

impl Group {
    pub const ALL: [Self; 5] = [Group::Control, Group::Views, Group::Move, Group::Find, Group::Other];

    pub fn name(self) -> &'static str {
        match self {
            Group::Control => "control",
            Group::Views => "views",
            Group::Move => "move",
            Group::Find => "find and copy",
            Group::Other => "other",
        }
    }
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
    /// The places whose focus the binding requires; empty if it applies anywhere.
    pub places: &'static [Place],
    pub group: Group,
    /// Text for the footer, if there is room; empty for no text.
    pub hint: &'static str,
    /// Text for the help.
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

const fn row(
    group: Group,
    keys: &'static [Chord],
    action: Action,
    when: When,
    hint: &'static str,
    about: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        when,
        places: ANYWHERE,
        group,
        hint,
        about,
    }
}

/// Restricts a binding to the given places.
const fn at(places: &'static [Place], binding: Binding) -> Binding {
    Binding { places, ..binding }
}

/// All bindings outside of text input.
#[rustfmt::skip]
pub const TABLE: &[Binding] = {
    use Group::{Control, Find, Move, Other, Views};
    use When::{Always, Live, Replay};
    &[
        row(Control, &[char(':')], Action::Steer, Live, "message", "message the agent (`!` now, `+` every prompt); resumes an ended run"),
        row(Control, &[char('p')], Action::PauseOrResume, Live, "pause", "pause after this iteration; again to resume"),
        row(Control, &[char('s')], Action::StopAfterIteration, Live, "stop after this", "stop when this iteration is finished; again to take it back"),
        row(Control, &[char('S')], Action::Skip, Live, "skip", "end this iteration and start the next; asks first"),
        row(Control, &[char('r')], Action::RetryNow, Live, "retry now", "end a wait and try again now; continue a run that is over at a limit, with more"),
        row(Control, &[char('i')], Action::Type, Live, "type", "type into the agent's terminal; Ctrl-] leaves"),
        row(Control, &[char('a')], Action::Answer, Live, "answer", "answer what the agent asks"),
        at(&[Place::View(Pane::Messages)], row(Control, &[char('x')], Action::Withdraw, Live, "take back", "take the chosen message back; asks first if it is a standing one")),
        at(&[Place::View(Pane::Background)], row(Control, &[char('x')], Action::CancelTask, Live, "cancel", "end the chosen background task, and everything it started")),
        row(Control, &[char('p'), char(' ')], Action::PauseOrResume, Replay, "pause", "pause the replay; again to resume"),
        row(Control, &[char('+'), char('=')], Action::Faster, Replay, "faster", "play twice as fast"),
        row(Control, &[char('-')], Action::Slower, Replay, "slower", "play half as fast"),
        at(NOT_DIFF, row(Control, &[char(']')], Action::NextIteration, Replay, "next", "go to the next iteration")),
        at(NOT_DIFF, row(Control, &[char('[')], Action::PreviousIteration, Replay, "previous", "go to the iteration before")),
        at(NO_SIDES, row(Control, &[key(KeyCode::Right)], Action::SeekForward, Replay, "+10 s", "10 seconds on")),
        at(NO_SIDES, row(Control, &[key(KeyCode::Left)], Action::SeekBackward, Replay, "", "10 seconds back")),
        row(Views, &[key(KeyCode::Tab), key(KeyCode::BackTab)], Action::NextFocus, Always, "plan", "focus the plan, or what is beside it"),
        row(Views, &[char('0')], Action::FocusPlan, Always, "", "the plan"),
        row(Views, &[char('1'), char('t')], Action::Show(Pane::Terminal), Always, "", "what the agent writes"),
        row(Views, &[char('2'), char('l')], Action::Show(Pane::Log), Always, "", "event log"),
        row(Views, &[char('3'), char('d')], Action::Show(Pane::Diff), Always, "", "what this iteration changed; again to refresh"),
        row(Views, &[char('4'), char('h')], Action::Show(Pane::History), Always, "", "the iterations so far"),
        row(Views, &[char('5'), char('m')], Action::Show(Pane::Messages), Always, "", "your messages and what became of them"),
        row(Views, &[char('6'), char('P')], Action::Show(Pane::Asks), Always, "", "what the agent asks and asked"),
        row(Views, &[char('7'), char('c')], Action::Show(Pane::Limits), Always, "", "limits, how much of them is used, settings"),
        row(Views, &[char('8'), char('T')], Action::Show(Pane::Background), Always, "", "the background tasks, and what became of them"),
        row(Views, &[char('R')], Action::Show(Pane::Report), Always, "", "report: why the run is over, what to do next, what it did"),
        row(Views, &[char('z')], Action::Zoom, Always, "zoom", "give what has the focus all of the room; again to share it"),
        at(&[Place::View(Pane::Terminal)], row(Views, &[char('o')], Action::Unfold(Unfold::Last), Always, "", "the latest result or thought that is folded, whole")),
        at(&[Place::View(Pane::Terminal)], row(Views, &[char('O')], Action::Unfold(Unfold::All), Always, "", "all of this iteration, with nothing folded")),
        at(&[Place::View(Pane::Terminal), Place::View(Pane::History)], row(Views, &[char('I')], Action::Prompt, Always, "", "the prompt of this iteration: what the agent was told")),
        at(&[Place::View(Pane::History)], row(Views, &[key(KeyCode::Enter)], Action::Open, Always, "open", "the chosen iteration whole: transcript, diff, goals, messages")),
        at(&[Place::View(Pane::History)], row(Views, &[key(KeyCode::Right)], Action::NextPart, Always, "", "of an iteration that is shown whole, the next part")),
        at(&[Place::View(Pane::History)], row(Views, &[key(KeyCode::Left)], Action::PreviousPart, Always, "", "the part before")),
        at(&[Place::View(Pane::Asks)], row(Views, &[key(KeyCode::Enter)], Action::Open, Always, "open", "answer what is chosen, or show it whole")),
        at(&[Place::View(Pane::Messages)], row(Views, &[key(KeyCode::Enter)], Action::Open, Always, "open", "edit the chosen message while it waits, or show it whole")),
        at(&[Place::View(Pane::Background)], row(Views, &[key(KeyCode::Enter)], Action::Open, Always, "output", "what the chosen task has written")),
        at(&[Place::View(Pane::Diff)], row(Views, &[char('w')], Action::Wrap, Always, "wrap", "wrap long lines, or cut them")),
        at(&[Place::View(Pane::Diff)], row(Views, &[char('b')], Action::CompareEarlier, Always, "since", "compare with the state before one iteration earlier")),
        at(&[Place::View(Pane::Diff)], row(Views, &[char('B')], Action::CompareLater, Always, "", "the same the other way; first, of the whole run")),
        at(&[Place::Plan], row(Views, &[key(KeyCode::Enter)], Action::Fold, Always, "fold", "fold the heading of the chosen task, or unfold it")),
        row(Views, &[key(KeyCode::Esc)], Action::Back, Always, "", "back to where you came from"),
        row(Move, &[key(KeyCode::Up), char('k')], Action::LineUp, Always, "", "a line up"),
        row(Move, &[key(KeyCode::Down), char('j')], Action::LineDown, Always, "", "a line down"),
        row(Move, &[key(KeyCode::PageUp), ctrl('b')], Action::PageUp, Always, "", "a page up"),
        row(Move, &[key(KeyCode::PageDown), ctrl('f')], Action::PageDown, Always, "", "a page down"),
        at(&[Place::View(Pane::Diff)], row(Move, &[char(']')], Action::NextFile, Always, "next file", "the next file")),
        at(&[Place::View(Pane::Diff)], row(Move, &[char('[')], Action::PreviousFile, Always, "", "the previous file")),
        at(&[Place::View(Pane::Diff)], row(Move, &[key(KeyCode::Left)], Action::Leftwards, Always, "", "to the left, where lines are cut")),
        at(&[Place::View(Pane::Diff)], row(Move, &[key(KeyCode::Right)], Action::Rightwards, Always, "", "to the right, where lines are cut")),
        row(Move, &[char('g'), key(KeyCode::Home)], Action::Top, Always, "", "to the beginning"),
        row(Move, &[char('G'), key(KeyCode::End)], Action::Bottom, Always, "", "to the end, and follow it"),
        row(Find, &[char('/')], Action::Search, Always, "search", "search here; Enter keeps the match, Esc goes back"),
        row(Find, &[char('n')], Action::NextMatch, Always, "", "the next match; older in the agent pane and the log"),
        row(Find, &[char('N')], Action::PreviousMatch, Always, "", "the match before"),
        at(&[Place::View(Pane::Log)], row(Find, &[char('f')], Action::Filter, Always, "filter", "only problems, then messages, tools, files, and all again")),
        row(Find, &[char('y')], Action::Copy, Always, "", "copy what is chosen; in the agent pane, what you say"),
        row(Find, &[char('e')], Action::Edit, Always, "", "open what is shown in your editor; from the plan, the plan itself"),
        row(Other, &[char('?'), key(KeyCode::F(1))], Action::Help, Always, "help", "these keys"),
        row(Other, &[ctrl('p')], Action::Palette, Always, "", "every action by its name"),
        row(Other, &[ctrl('l')], Action::Redraw, Always, "", "redraw the screen"),
        row(Other, &[ctrl('z')], Action::Suspend, Always, "", "back to the shell; `fg` returns"),
        row(Other, &[ctrl('c')], Action::Interrupt, Always, "", "ask whether to stop; twice stops, once more forces"),
        row(Other, &[char('q')], Action::Quit, Always, "quit", "leave; asks whether to detach or stop while the run is not over"),
    ]
};

/// All bindings of the board of a batch.
#[rustfmt::skip]
pub const BOARD: &[Binding] = {
    use Group::{Control, Move, Other, Views};
    use When::{Always, Live};
    &[
        row(Views, &[key(KeyCode::Enter)], Action::Open, Always, "open", "the run of the chosen plan on its own screen; leaving that comes back"),
        row(Control, &[char('a')], Action::Answer, Live, "answer", "answer what the chosen plan asks, or the first that asks"),
        row(Control, &[char('c')], Action::CancelTask, Live, "cancel", "cancel the chosen plan; asks first, and its branch stays"),
        row(Views, &[key(KeyCode::Tab), key(KeyCode::BackTab)], Action::NextFocus, Live, "", "from the plans to what they ask, and back"),
        row(Move, &[key(KeyCode::Up), char('k')], Action::LineUp, Always, "", "a plan up"),
        row(Move, &[key(KeyCode::Down), char('j')], Action::LineDown, Always, "", "a plan down"),
        row(Move, &[key(KeyCode::PageUp), ctrl('b')], Action::PageUp, Always, "", "a page up"),
        row(Move, &[key(KeyCode::PageDown), ctrl('f')], Action::PageDown, Always, "", "a page down"),
        row(Move, &[char('g'), key(KeyCode::Home)], Action::Top, Always, "", "to the first plan"),
        row(Move, &[char('G'), key(KeyCode::End)], Action::Bottom, Always, "", "to the last plan"),
        row(Other, &[char('?'), key(KeyCode::F(1))], Action::Help, Always, "help", "these keys"),
        row(Other, &[ctrl('l')], Action::Redraw, Always, "", "redraw the screen"),
        row(Other, &[ctrl('z')], Action::Suspend, Always, "", "back to the shell; `fg` returns"),
        row(Other, &[ctrl('c')], Action::Interrupt, Always, "", "ask whether to stop all runs; twice stops, once more forces"),
        row(Other, &[char('q')], Action::Quit, Always, "quit", "leave; asks whether the batch goes on or stops while it is not over"),
    ]
};

/// The action of a key on the board of a batch.
pub fn action_on_board(chord: Chord) -> Option<Action> {
    let found = BOARD.iter().find(|binding| binding.keys.contains(&chord));
    found.map(|binding| binding.action)
}

/// The action of a key.
pub fn action(chord: Chord, here: Here) -> Option<Action> {
    bindings(here)
        .find(|binding| binding.keys.contains(&chord))
        .map(|binding| binding.action)
}

/// The applicable bindings, in the order of the table.
pub fn bindings(here: Here) -> impl Iterator<Item = &'static Binding> {
    TABLE.iter().filter(move |binding| {
        let is_now = match binding.when {
            When::Always => true,
            When::Live => !here.replay,
            When::Replay => here.replay,
        };
        is_now && (binding.places.is_empty() || binding.places.contains(&here.place))
    })
}

impl Chord {
    /// Normalises a pressed key: Shift is dropped for characters and for Shift-Tab, whose codes already imply it.
    pub fn new(code: KeyCode, modifiers: KeyModifiers) -> Self {
        let modifiers = match code {
            KeyCode::Char(_) | KeyCode::BackTab => modifiers - KeyModifiers::SHIFT,
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
            KeyCode::BackTab => "Shift-Tab".to_owned(),
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
    use ralph_core::testing::assert_committed;

    const PLACES: [Place; 10] = [
        Place::Plan,
        Place::View(Pane::Terminal),
        Place::View(Pane::Log),
        Place::View(Pane::Diff),
        Place::View(Pane::History),
        Place::View(Pane::Messages),
        Place::View(Pane::Asks),
        Place::View(Pane::Limits),
        Place::View(Pane::Background),
        Place::View(Pane::Report),
    ];

    #[test]
    fn no_key_means_two_things_in_any_place() {
        for place in PLACES {
            for replay in [false, true] {
                let here = Here { place, replay };
                let keys: Vec<Chord> = bindings(here).flat_map(|binding| binding.keys).copied().collect();
                for (at, key) in keys.iter().enumerate() {
                    assert!(!keys[..at].contains(key), "{} twice in {place:?}", key.name());
                }
            }
        }
        let keys: Vec<Chord> = BOARD.iter().flat_map(|binding| binding.keys).copied().collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[..at].contains(key), "{} twice on the board", key.name());
        }
    }

    /// One table for each group, with the place and time in which a key applies.
    #[test]
    fn the_page_of_all_keys_of_the_screen_is_the_committed_one() {
        let head = "# Keys of the screen\n\n`?` on the screen shows those that have something to do now. \
                    [The screen](../guide/screen.md) begins with the ones you need first.\n";
        let mut page = head.to_owned();
        for group in Group::ALL {
            let name = group.name();
            page += &format!(
                "\n## {}{}\n\n| key | what it does |\n|---|---|\n",
                name[..1].to_uppercase(),
                &name[1..]
            );
            for binding in TABLE.iter().filter(|binding| binding.group == group) {
                let keys: Vec<String> = binding.keys.iter().map(|chord| format!("`{}`", chord.name())).collect();
                let when = match (binding.when, binding.places) {
                    (When::Replay, _) => "in a replay: ",
                    (When::Always | When::Live, [Place::Plan]) => "in the plan: ",
                    (When::Always | When::Live, [Place::View(Pane::Messages)]) => "in the messages: ",
                    (When::Always | When::Live, [Place::View(Pane::Background)]) => "in the background tasks: ",
                    (When::Always | When::Live, [Place::View(Pane::Terminal)]) => "in the terminal: ",
                    (When::Always | When::Live, [Place::View(Pane::Terminal), Place::View(Pane::History)]) => {
                        "in the terminal and the history: "
                    }
                    (When::Always | When::Live, [Place::View(Pane::History)]) => "in the history: ",
                    (When::Always | When::Live, [Place::View(Pane::Asks)]) => "in what the agent asked: ",
                    (When::Always | When::Live, [Place::View(Pane::Diff)]) => "in the diff: ",
                    (When::Always | When::Live, [Place::View(Pane::Log)]) => "in the log: ",
                    (When::Always | When::Live, []) => "",
                    (When::Always | When::Live, places) => panic!("{places:?} has no name on the page"),
                };
                page += &format!("| {} | {when}{} |\n", keys.join(" "), binding.about);
            }
        }
        page += "\n## The board of a batch\n\n| key | what it does |\n|---|---|\n";
        for binding in BOARD {
            let keys: Vec<String> = binding.keys.iter().map(|chord| format!("`{}`", chord.name())).collect();
            page += &format!("| {} | {} |\n", keys.join(" "), binding.about);
        }
        assert_committed("docs/reference/keys.md", &page, "the_page_of_all_keys");
    }

    #[test]
    fn a_shifted_letter_is_that_letter() {
        let chord = Chord::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        let here = Here {
            place: Place::View(Pane::Terminal),
            replay: false,
        };
        assert_eq!(action(chord, here), Some(Action::Bottom));
        assert_eq!(Chord::new(KeyCode::Char('c'), KeyModifiers::CONTROL).name(), "Ctrl-C");
    }
}
