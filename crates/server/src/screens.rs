//! The screens that show a run. The one that typed last decides the size of the agent's terminal.

use parking_lot::Mutex;
use ralph_state::control::frames::ScreenFacts;
use ralph_system::proc::Size;
use tokio::sync::watch;

/// The screens of a run.
#[derive(Debug)]
pub(crate) struct RunScreens {
    shown: ScreenFacts,
    table: Mutex<ScreenTable>,
    size: watch::Sender<Option<Size>>,
}

impl RunScreens {
    pub(crate) fn new(shown: ScreenFacts) -> Self {
        Self {
            table: Mutex::new(ScreenTable::new(shown.here)),
            shown,
            size: watch::Sender::new(None),
        }
    }

    pub(crate) fn shown(&self) -> &ScreenFacts {
        &self.shown
    }

    /// The size that these screens have chosen for the agent's terminal.
    pub(crate) fn sizes(&self) -> watch::Receiver<Option<Size>> {
        self.size.subscribe()
    }

    /// Applies a change. Also returns the new size of the agent's terminal, if the change causes one.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut ScreenTable) -> T) -> (T, Option<Size>) {
        let mut table = self.table.lock();
        let changed = change(&mut table);
        let size = table.size();
        let is_new = self.size.send_if_modified(|now| {
            let is_new = size.is_some() && *now != size;
            if is_new {
                *now = size;
            }
            is_new
        });
        (changed, size.filter(|_| is_new))
    }
}

/// The screens of a run, in the order of their last input.
#[derive(Debug, Default)]
pub(crate) struct ScreenTable {
    /// Number of screens ever added; the next one's number.
    numbered: u64,
    /// The screen that typed last is at the end.
    screens: Vec<ConnectedScreen>,
}

#[derive(Debug)]
struct ConnectedScreen {
    number: u64,
    /// `None` until the screen reports it. The screen of the loop's own process never does.
    size: Option<Size>,
}

impl ScreenTable {
    /// Creates the table; with `here`, it contains the screen of the loop's own process.
    fn new(here: bool) -> Self {
        let mut screens = Self::default();
        if here {
            screens.add();
        }
        screens
    }

    /// Adds a screen, which does not decide the size until it types. Returns its number.
    pub(crate) fn add(&mut self) -> u64 {
        let number = self.numbered;
        self.numbered += 1;
        self.screens.insert(0, ConnectedScreen { number, size: None });
        number
    }

    pub(crate) fn remove(&mut self, number: u64) {
        self.screens.retain(|screen| screen.number != number);
    }

    /// Records the size of a screen's pane for the agent's terminal.
    pub(crate) fn measured(&mut self, number: u64, size: Size) {
        if let Some(screen) = self.screens.iter_mut().find(|screen| screen.number == number) {
            screen.size = Some(size);
        }
    }

    /// Records that a screen typed.
    pub(crate) fn typed(&mut self, number: u64) {
        if let Some(at) = self.screens.iter().position(|screen| screen.number == number) {
            let screen = self.screens.remove(at);
            self.screens.push(screen);
        }
    }

    /// The size for the agent's terminal; `None` if these screens do not decide it.
    fn size(&self) -> Option<Size> {
        self.screens.last()?.size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn size(cols: u16) -> Size {
        Size { cols, rows: 24 }
    }

    #[test]
    fn the_agents_terminal_follows_the_screen_that_typed_last() {
        let mut screens = ScreenTable::new(false);
        assert_eq!(screens.size(), None);
        let one = screens.add();
        screens.measured(one, size(80));
        assert_eq!(screens.size(), Some(size(80)), "the only one");
        let other = screens.add();
        screens.measured(other, size(120));
        assert_eq!(screens.size(), Some(size(80)), "whoever only looks changes nothing");
        screens.typed(other);
        assert_eq!(screens.size(), Some(size(120)));
        screens.measured(one, size(81));
        assert_eq!(screens.size(), Some(size(120)));
        screens.remove(other);
        assert_eq!(screens.size(), Some(size(81)));
        screens.remove(one);
        assert_eq!(screens.size(), None);
    }

    #[test]
    fn a_visitor_has_to_type_before_the_loops_own_screen_gives_way() {
        let mut screens = ScreenTable::new(true);
        let other = screens.add();
        screens.measured(other, size(120));
        assert_eq!(screens.size(), None);
        screens.typed(other);
        assert_eq!(screens.size(), Some(size(120)));
        screens.remove(other);
        assert_eq!(screens.size(), None);
    }
}
