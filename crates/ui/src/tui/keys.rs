//! The key bindings: one table for both the dispatch and the help. Pure.

use crossterm::event::{KeyCode, KeyModifiers};
use ralph_state::store::signal_log::Unfold;

use super::{
    layout::Focus,
    looks::LookChange,
    model::{Pane, Ui},
    theme::Palette,
};

/// The action of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyAction {
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
    /// Choose a line of the diff, then comment on it.
    Comment,
    /// List the comments.
    Comments,
    /// Set the chosen task aside, or take it back.
    SetAside,
    Back,
    Withdraw,
    CancelTask,
    RaiseLimit,
    ChooseWorker,
    PreviousFile,
    NextFile,
    Wrap,
    /// Show both sides of a diff beside each other, or in one column.
    Split,
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
    /// Restore the files to a checkpoint of an iteration.
    Restore,
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
    Detach,
    /// Copy the command that continues the run.
    CopyContinue,
    Look(LookChange),
}

/// When a binding applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingScope {
    Always,
    /// Only while a loop runs.
    Live,
    /// Only in `ralph replay`.
    Replay,
}

/// The focus, where a key has a meaning of its own there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyFocus {
    Plan,
    View(Pane),
}

/// Places of a binding that applies anywhere.
const ANYWHERE: &[KeyFocus] = &[];

/// The state that selects the applicable bindings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BindingContext {
    pub focus: KeyFocus,
    pub replay: bool,
}

impl BindingContext {
    pub fn from_ui(ui: &Ui) -> Self {
        Self {
            focus: KeyFocus::from_ui(ui),
            replay: ui.replay.is_some(),
        }
    }
}

impl KeyFocus {
    pub fn from_ui(ui: &Ui) -> Self {
        match ui.focus {
            Focus::Plan => KeyFocus::Plan,
            Focus::Main => KeyFocus::View(ui.pane),
        }
    }
}

/// Groups of bindings, in the order of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BindingGroup {
    Control,
    Views,
    Move,
    Find,
    Other,
    Looks,
}

impl BindingGroup {
    pub const ALL: [Self; 6] = [
        BindingGroup::Control,
        BindingGroup::Views,
        BindingGroup::Move,
        BindingGroup::Find,
        BindingGroup::Other,
        BindingGroup::Looks,
    ];

    pub fn name(self) -> &'static str {
        match self {
            BindingGroup::Control => "control",
            BindingGroup::Views => "views",
            BindingGroup::Move => "move",
            BindingGroup::Find => "find and copy",
            BindingGroup::Other => "other",
            BindingGroup::Looks => "looks",
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
    pub action: KeyAction,
    pub when: BindingScope,
    /// The places whose focus the binding requires; empty if it applies anywhere.
    pub places: &'static [KeyFocus],
    pub group: BindingGroup,
    /// Text for the footer, if there is room; empty for no text.
    pub hint: &'static str,
    /// The name of the action, in the palette and the help; empty where `about` says it all.
    pub name: &'static str,
    /// Details besides the name.
    pub about: &'static str,
}

impl Binding {
    /// `Skip iteration: end it and start the next; asks first`.
    pub fn described(&self) -> String {
        match (self.name, self.about) {
            (name, "") => name.to_owned(),
            ("", about) => about.to_owned(),
            (name, about) => {
                // A name with a colon of its own already has its reader pause.
                let separator = if name.contains(':') { ", " } else { ": " };
                format!("{name}{separator}{about}")
            }
        }
    }
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
    group: BindingGroup,
    keys: &'static [Chord],
    action: KeyAction,
    when: BindingScope,
    hint: &'static str,
    name: &'static str,
    about: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        when,
        places: ANYWHERE,
        group,
        hint,
        name,
        about,
    }
}

/// Restricts a binding to the given places.
const fn at(places: &'static [KeyFocus], binding: Binding) -> Binding {
    Binding { places, ..binding }
}

/// All bindings outside of text input.
#[rustfmt::skip]
pub const TABLE: &[Binding] = {
    use BindingGroup::{Control, Find, Move, Other, Views};
    use BindingScope::{Always, Live, Replay};
    &[
        row(Control, &[char(':')], KeyAction::Steer, Live, "message", "Send message", "`!` now, `+` in every prompt; resumes an ended run"),
        row(Control, &[char('p')], KeyAction::PauseOrResume, Live, "pause", "Pause", "after this iteration; again to resume"),
        row(Control, &[char('s')], KeyAction::StopAfterIteration, Live, "stop after this", "Stop after iteration", "again to cancel that"),
        row(Control, &[char('S')], KeyAction::Skip, Live, "skip", "Skip iteration", "end it and start the next; asks first"),
        row(Control, &[char('r')], KeyAction::RetryNow, Live, "retry now", "Retry now", "end a wait; continue a run that ended at a limit, with a higher one"),
        row(Control, &[char('M')], KeyAction::ChooseWorker, Live, "", "Change agent or model…", "for the next iterations"),
        row(Control, &[char('i')], KeyAction::Type, Live, "type", "Type to agent", "into its terminal; Ctrl-] leaves"),
        row(Control, &[char('a')], KeyAction::Answer, Live, "answer", "Answer question", ""),
        at(&[KeyFocus::View(Pane::Messages)], row(Control, &[char('x')], KeyAction::Withdraw, Live, "withdraw", "Withdraw message", "asks first if it is a standing one")),
        at(&[KeyFocus::View(Pane::Background)], row(Control, &[char('x')], KeyAction::CancelTask, Live, "cancel", "Cancel background task", "and everything it started")),
        at(&[KeyFocus::View(Pane::Diff)], row(Control, &[char('C')], KeyAction::Comment, Live, "comment", "Comment on line…", "choose one with the arrows, `C` again writes")),
        at(&[KeyFocus::Plan], row(Control, &[char('x')], KeyAction::SetAside, Live, "set aside", "Set task aside", "the run is done without it; again to take it back")),
        at(&[KeyFocus::View(Pane::History)], row(Control, &[char('u')], KeyAction::Restore, Always, "restore", "Restore files…", "to a checkpoint of the chosen iteration; asks first")),
        at(&[KeyFocus::View(Pane::Limits)], row(Control, &[char('+')], KeyAction::RaiseLimit, Live, "raise", "Raise limit…", "")),
        row(Control, &[char('p'), char(' ')], KeyAction::PauseOrResume, Replay, "pause", "Pause replay", "again to resume"),
        row(Control, &[char('+'), char('=')], KeyAction::Faster, Replay, "faster", "Play faster", "twice as fast"),
        row(Control, &[char('-')], KeyAction::Slower, Replay, "slower", "Play slower", "half as fast"),
        row(Control, &[char(']')], KeyAction::NextIteration, Replay, "next", "Next iteration", ""),
        row(Control, &[char('[')], KeyAction::PreviousIteration, Replay, "previous", "Previous iteration", ""),
        row(Control, &[key(KeyCode::Right)], KeyAction::SeekForward, Replay, "+10 s", "Forward 10 seconds", ""),
        row(Control, &[key(KeyCode::Left)], KeyAction::SeekBackward, Replay, "", "Back 10 seconds", ""),
        row(Views, &[key(KeyCode::Tab), key(KeyCode::BackTab)], KeyAction::NextFocus, Always, "plan", "Switch focus", "between the plan and the pane beside it"),
        row(Views, &[char('0')], KeyAction::FocusPlan, Always, "", "Go to plan", ""),
        row(Views, &[char('1'), char('t')], KeyAction::Show(Pane::Terminal), Always, "", "Go to agent", "its output"),
        row(Views, &[char('2'), char('l')], KeyAction::Show(Pane::Log), Always, "", "Go to log", ""),
        row(Views, &[char('3'), char('d')], KeyAction::Show(Pane::Diff), Always, "", "Go to diff", "what this iteration changed; again to refresh"),
        row(Views, &[char('4'), char('h')], KeyAction::Show(Pane::History), Always, "", "Go to history", "iterations and their outcome"),
        row(Views, &[char('5'), char('m')], KeyAction::Show(Pane::Messages), Always, "", "Go to messages", "yours, and their outcome"),
        row(Views, &[char('6'), char('P')], KeyAction::Show(Pane::Asks), Always, "", "Go to questions", "open and past ones"),
        row(Views, &[char('7'), char('c')], KeyAction::Show(Pane::Limits), Always, "", "Go to limits", "their usage, and settings"),
        row(Views, &[char('8'), char('T')], KeyAction::Show(Pane::Background), Always, "", "Go to background tasks", "and their outcome"),
        row(Views, &[char('R')], KeyAction::Show(Pane::Report), Always, "", "Go to report", "verdict, what to do next, what was done"),
        row(Views, &[char('L')], KeyAction::Comments, Always, "", "List comments", "on lines of the work; send, resolve or withdraw them"),
        row(Views, &[char('z')], KeyAction::Zoom, Always, "zoom", "Zoom pane", "again to restore it"),
        at(&[KeyFocus::View(Pane::Terminal)], row(Views, &[char('o')], KeyAction::Unfold(Unfold::Last), Always, "", "Unfold latest output", "result or thought")),
        at(&[KeyFocus::View(Pane::Terminal)], row(Views, &[char('O')], KeyAction::Unfold(Unfold::All), Always, "", "Unfold iteration", "all of its output")),
        at(&[KeyFocus::View(Pane::Terminal), KeyFocus::View(Pane::History)], row(Views, &[char('I')], KeyAction::Prompt, Always, "", "Show prompt", "of this iteration")),
        at(&[KeyFocus::View(Pane::History)], row(Views, &[key(KeyCode::Enter)], KeyAction::Open, Always, "open", "Open iteration", "its transcript, diff, goals, messages")),
        at(&[KeyFocus::View(Pane::History)], row(Views, &[key(KeyCode::Right)], KeyAction::NextPart, Always, "", "Next part", "of an iteration shown in full")),
        at(&[KeyFocus::View(Pane::History)], row(Views, &[key(KeyCode::Left)], KeyAction::PreviousPart, Always, "", "Previous part", "")),
        at(&[KeyFocus::View(Pane::Asks)], row(Views, &[key(KeyCode::Enter)], KeyAction::Open, Always, "open", "Open question", "answer it, or show it in full")),
        at(&[KeyFocus::View(Pane::Messages)], row(Views, &[key(KeyCode::Enter)], KeyAction::Open, Always, "open", "Open message", "edit it while it waits, or show it in full")),
        at(&[KeyFocus::View(Pane::Background)], row(Views, &[key(KeyCode::Enter)], KeyAction::Open, Always, "output", "Show output", "of the chosen background task")),
        at(&[KeyFocus::View(Pane::Log)], row(Views, &[key(KeyCode::Enter)], KeyAction::Open, Always, "unfold", "Unfold entry", "the chosen one of the log; again to fold it")),
        at(&[KeyFocus::View(Pane::Log)], row(Views, &[char('O')], KeyAction::Unfold(Unfold::All), Always, "", "Unfold all entries", "of the log; again to fold them")),
        at(&[KeyFocus::View(Pane::Report)], row(Views, &[key(KeyCode::Enter)], KeyAction::Open, Always, "iterations", "Unfold iterations", "again to fold them")),
        at(&[KeyFocus::View(Pane::Diff)], row(Views, &[char('w')], KeyAction::Wrap, Always, "wrap", "Wrap long lines", "or cut them")),
        at(&[KeyFocus::View(Pane::Diff)], row(Views, &[char('v')], KeyAction::Split, Always, "", "Side by side", "or in one column")),
        at(&[KeyFocus::View(Pane::Diff)], row(Views, &[char('b')], KeyAction::CompareEarlier, Always, "compare", "Compare with earlier", "the state before one iteration earlier")),
        at(&[KeyFocus::View(Pane::Diff)], row(Views, &[char('B')], KeyAction::CompareLater, Always, "", "Compare with later", "one iteration; at first, with the start of the run")),
        at(&[KeyFocus::Plan], row(Views, &[key(KeyCode::Enter)], KeyAction::Fold, Always, "fold", "Fold heading", "of the chosen task; again to unfold")),
        row(Views, &[key(KeyCode::Esc)], KeyAction::Back, Always, "", "Go back", ""),
        row(Move, &[key(KeyCode::Up), char('k')], KeyAction::LineUp, Always, "", "Line up", ""),
        row(Move, &[key(KeyCode::Down), char('j')], KeyAction::LineDown, Always, "", "Line down", ""),
        row(Move, &[key(KeyCode::PageUp), ctrl('b')], KeyAction::PageUp, Always, "", "Page up", ""),
        row(Move, &[key(KeyCode::PageDown), ctrl('f')], KeyAction::PageDown, Always, "", "Page down", ""),
        at(&[KeyFocus::View(Pane::Diff)], row(Move, &[char(']')], KeyAction::NextFile, Always, "next file", "Next file", "")),
        at(&[KeyFocus::View(Pane::Diff)], row(Move, &[char('[')], KeyAction::PreviousFile, Always, "", "Previous file", "")),
        at(&[KeyFocus::View(Pane::Diff)], row(Move, &[key(KeyCode::Left)], KeyAction::Leftwards, Always, "", "Scroll left", "where lines are cut")),
        at(&[KeyFocus::View(Pane::Diff)], row(Move, &[key(KeyCode::Right)], KeyAction::Rightwards, Always, "", "Scroll right", "where lines are cut")),
        row(Move, &[char('g'), key(KeyCode::Home)], KeyAction::Top, Always, "", "Go to beginning", ""),
        row(Move, &[char('G'), key(KeyCode::End)], KeyAction::Bottom, Always, "", "Go to end", "and follow it"),
        row(Find, &[char('/')], KeyAction::Search, Always, "search", "Search", "Enter keeps the match, Esc goes back"),
        row(Find, &[char('n')], KeyAction::NextMatch, Always, "", "Next match", "older in the agent pane and the log"),
        row(Find, &[char('N')], KeyAction::PreviousMatch, Always, "", "Previous match", ""),
        at(&[KeyFocus::View(Pane::Log)], row(Find, &[char('f')], KeyAction::Filter, Always, "filter", "Filter log", "problems, messages, tools, files, all")),
        row(Find, &[char('y')], KeyAction::Copy, Always, "", "Copy", "the selection; in the agent pane, choose what"),
        row(Find, &[char('e')], KeyAction::Edit, Always, "", "Open in editor", "the shown text; in the plan, its file"),
        row(Other, &[char('?'), key(KeyCode::F(1))], KeyAction::Help, Always, "help", "Help", "all keys that work here"),
        row(Other, &[ctrl('p')], KeyAction::Palette, Always, "", "Command palette", "find an action by its name"),
        row(Other, &[ctrl('l')], KeyAction::Redraw, Always, "", "Redraw screen", ""),
        row(Other, &[ctrl('z')], KeyAction::Suspend, Always, "", "Suspend", "back to the shell; `fg` returns"),
        row(Other, &[ctrl('c')], KeyAction::Interrupt, Always, "", "Interrupt", "asks whether to stop; twice stops, once more forces"),
        row(Other, &[char('q')], KeyAction::Quit, Always, "quit", "Quit…", "asks whether to detach or stop while the run is active"),
    ]
};

/// The commands without a key, for the palette and the help.
#[rustfmt::skip]
pub const KEYLESS: &[Binding] = {
    use BindingGroup::{Looks, Other};
    use BindingScope::{Always, Live};
    &[
        row(Other, &[], KeyAction::Detach, Live, "", "Detach", "leave while the run continues"),
        row(Other, &[], KeyAction::CopyContinue, Always, "", "Copy: ralph continue", "the command that continues this run"),
        row(Looks, &[], KeyAction::Look(LookChange::Theme(Palette::Dark)), Always, "", "Theme: dark", ""),
        row(Looks, &[], KeyAction::Look(LookChange::Theme(Palette::Light)), Always, "", "Theme: light", ""),
        row(Looks, &[], KeyAction::Look(LookChange::Theme(Palette::Sixteen)), Always, "", "Theme: 16 colours", "those of the terminal"),
        row(Looks, &[], KeyAction::Look(LookChange::Theme(Palette::Mono)), Always, "", "Theme: no colours", ""),
        row(Looks, &[], KeyAction::Look(LookChange::Ascii(false)), Always, "", "Glyphs: Unicode", ""),
        row(Looks, &[], KeyAction::Look(LookChange::Ascii(true)), Always, "", "Glyphs: ASCII", ""),
        row(Looks, &[], KeyAction::Look(LookChange::Mouse(true)), Always, "", "Mouse: on", "clicks and the wheel work"),
        row(Looks, &[], KeyAction::Look(LookChange::Mouse(false)), Always, "", "Mouse: off", "the terminal selects text"),
        row(Looks, &[], KeyAction::Look(LookChange::Notify(true)), Always, "", "Notifications: on", "of this screen"),
        row(Looks, &[], KeyAction::Look(LookChange::Notify(false)), Always, "", "Notifications: off", "of this screen"),
    ]
};

/// All bindings of the board of a batch.
#[rustfmt::skip]
pub const BOARD: &[Binding] = {
    use BindingGroup::{Control, Move, Other, Views};
    use BindingScope::{Always, Live};
    &[
        row(Views, &[key(KeyCode::Enter)], KeyAction::Open, Always, "open", "", "open the run of the chosen plan on its own screen"),
        row(Control, &[char('a')], KeyAction::Answer, Live, "answer", "", "answer the question of the chosen plan, or the first open one"),
        row(Control, &[char('c')], KeyAction::CancelTask, Live, "cancel", "", "cancel the chosen plan; asks first, and keeps its branch"),
        row(Views, &[key(KeyCode::Tab), key(KeyCode::BackTab)], KeyAction::NextFocus, Live, "", "", "switch focus between plans and questions"),
        row(Move, &[key(KeyCode::Up), char('k')], KeyAction::LineUp, Always, "", "", "a plan up"),
        row(Move, &[key(KeyCode::Down), char('j')], KeyAction::LineDown, Always, "", "", "a plan down"),
        row(Move, &[key(KeyCode::PageUp), ctrl('b')], KeyAction::PageUp, Always, "", "", "a page up"),
        row(Move, &[key(KeyCode::PageDown), ctrl('f')], KeyAction::PageDown, Always, "", "", "a page down"),
        row(Move, &[char('g'), key(KeyCode::Home)], KeyAction::Top, Always, "", "", "to the first plan"),
        row(Move, &[char('G'), key(KeyCode::End)], KeyAction::Bottom, Always, "", "", "to the last plan"),
        row(Other, &[char('?'), key(KeyCode::F(1))], KeyAction::Help, Always, "help", "", "show the keys"),
        row(Other, &[ctrl('l')], KeyAction::Redraw, Always, "", "", "redraw the screen"),
        row(Other, &[ctrl('z')], KeyAction::Suspend, Always, "", "", "back to the shell; `fg` returns"),
        row(Other, &[ctrl('c')], KeyAction::Interrupt, Always, "", "", "ask whether to stop all runs; twice stops, once more forces"),
        row(Other, &[char('q')], KeyAction::Quit, Always, "quit", "", "leave; asks whether the batch continues or stops while it is active"),
    ]
};

/// The action of a key on the board of a batch.
pub fn action_on_board(chord: Chord) -> Option<KeyAction> {
    let found = BOARD.iter().find(|binding| binding.keys.contains(&chord));
    found.map(|binding| binding.action)
}

/// The action of a key.
pub fn action(chord: Chord, here: BindingContext) -> Option<KeyAction> {
    bindings(here)
        .find(|binding| binding.keys.contains(&chord))
        .map(|binding| binding.action)
}

/// The applicable bindings, in the order of the table.
pub fn bindings(here: BindingContext) -> impl Iterator<Item = &'static Binding> {
    let is_of_place = move |key: &Chord| {
        let mut of_place = TABLE.iter().filter(|binding| binding.places.contains(&here.focus));
        of_place.any(|binding| binding.keys.contains(key))
    };
    TABLE.iter().filter(move |binding| {
        let is_now = match binding.when {
            BindingScope::Always => true,
            BindingScope::Live => !here.replay,
            // The keys of the focused pane come first.
            BindingScope::Replay => here.replay && !binding.keys.iter().any(is_of_place),
        };
        is_now && (binding.places.is_empty() || binding.places.contains(&here.focus))
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

    const PLACES: [KeyFocus; 10] = [
        KeyFocus::Plan,
        KeyFocus::View(Pane::Terminal),
        KeyFocus::View(Pane::Log),
        KeyFocus::View(Pane::Diff),
        KeyFocus::View(Pane::History),
        KeyFocus::View(Pane::Messages),
        KeyFocus::View(Pane::Asks),
        KeyFocus::View(Pane::Limits),
        KeyFocus::View(Pane::Background),
        KeyFocus::View(Pane::Report),
    ];

    #[test]
    fn no_key_means_two_things_in_any_place() {
        for place in PLACES {
            for replay in [false, true] {
                let here = BindingContext { focus: place, replay };
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
        let head = "# Keys of the screen\n\n`?` on the screen shows those that have something to do now, and `Ctrl-P` finds \
                    all of them by name, also those without a key. \
                    [The screen](../guide/screen.md) begins with the ones you need first.\n";
        let mut page = head.to_owned();
        for group in BindingGroup::ALL {
            let name = group.name();
            page += &format!(
                "\n## {}{}\n\n| key | what it does |\n|---|---|\n",
                name[..1].to_uppercase(),
                &name[1..]
            );
            for binding in TABLE.iter().chain(KEYLESS).filter(|binding| binding.group == group) {
                let keys: Vec<String> = binding.keys.iter().map(|chord| format!("`{}`", chord.name())).collect();
                let when = match (binding.when, binding.places) {
                    (BindingScope::Replay, _) => "in a replay: ",
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::Plan]) => "in the plan: ",
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Messages)]) => {
                        "in the messages: "
                    }
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Limits)]) => "in the limits: ",
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Background)]) => {
                        "in the background tasks: "
                    }
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Terminal)]) => {
                        "in the terminal: "
                    }
                    (
                        BindingScope::Always | BindingScope::Live,
                        [KeyFocus::View(Pane::Terminal), KeyFocus::View(Pane::History)],
                    ) => "in the terminal and the history: ",
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::History)]) => "in the history: ",
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Report)]) => "in the report: ",
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Asks)]) => {
                        "in what the agent asked: "
                    }
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Diff)]) => "in the diff: ",
                    (BindingScope::Always | BindingScope::Live, [KeyFocus::View(Pane::Log)]) => "in the log: ",
                    (BindingScope::Always | BindingScope::Live, []) => "",
                    (BindingScope::Always | BindingScope::Live, places) => panic!("{places:?} has no name on the page"),
                };
                page += &format!("| {} | {when}{} |\n", keys.join(" "), binding.described());
            }
        }
        page += "\n## The board of a batch\n\n| key | what it does |\n|---|---|\n";
        for binding in BOARD {
            let keys: Vec<String> = binding.keys.iter().map(|chord| format!("`{}`", chord.name())).collect();
            page += &format!("| {} | {} |\n", keys.join(" "), binding.described());
        }
        assert_committed("docs/reference/keys.md", &page, "the_page_of_all_keys");
    }

    #[test]
    fn a_shifted_letter_is_that_letter() {
        let chord = Chord::new(KeyCode::Char('G'), KeyModifiers::SHIFT);
        let here = BindingContext {
            focus: KeyFocus::View(Pane::Terminal),
            replay: false,
        };
        assert_eq!(action(chord, here), Some(KeyAction::Bottom));
        assert_eq!(Chord::new(KeyCode::Char('c'), KeyModifiers::CONTROL).name(), "Ctrl-C");
    }
}
