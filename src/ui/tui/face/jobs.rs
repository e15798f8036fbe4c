//! What the user asks the frame loop for beside the model: typing, scrolling, diffs, recordings.

use super::*;

impl Face<'_> {
    pub(super) fn type_to_agent(&mut self, input: &Input) {
        let bytes = typing::bytes(input, self.live.screen().vt(), self.model.layout().main);
        if let Some(handle) = self.setup.handle.as_ref().filter(|_| !bytes.is_empty()) {
            handle.type_bytes(bytes);
        }
    }

    /// The terminal that is shown, if one is.
    pub(super) fn shown_screen(&mut self) -> Option<&mut Screen> {
        match (self.model.ui.pane, &self.model.ui.history.open) {
            (Pane::Terminal, _) => Some(self.live.unfolded()),
            (Pane::History, Some(playback)) if playback.state == PlaybackState::Loaded => self.played.as_deref_mut(),
            _ => None,
        }
    }

    pub(super) fn scroll(&mut self, scroll: Scroll) {
        let Some(screen) = self.shown_screen() else { return };
        let at = screen.vt().scrollback();
        screen.scroll_to(match scroll {
            Scroll::Up(rows) => at.saturating_add(rows),
            Scroll::Down(rows) => at.saturating_sub(rows),
            Scroll::Top => usize::MAX,
            Scroll::Bottom => 0,
        });
        self.live.fold();
    }

    pub(super) fn load_diff(&mut self, number: u32) {
        let Some(iteration) = self.model.run.iterations.numbered(number) else {
            return;
        };
        let Some(before) = iteration.before.clone() else {
            let lines = Err("There is no checkpoint to compare with.".to_owned());
            self.model.ui.diff.state = crate::ui::tui::model::DiffState::None;
            _ = self.mailbox.send(Arrived::Ui(ScreenEvent::DiffLoaded {
                iteration: number,
                lines,
            }));
            return;
        };
        if std::mem::replace(&mut self.diffing, true) {
            return;
        }
        let request = DiffRequest {
            before,
            after: iteration.after.clone(),
        };
        let (differ, mailbox) = (self.setup.differ.clone(), self.mailbox.clone());
        thread::spawn(move || {
            let lines = differ(&request).map(|text| diff_lines(&text));
            mailbox.send(Arrived::Ui(ScreenEvent::DiffLoaded {
                iteration: number,
                lines,
            }))
        });
    }

    pub(super) fn play(&mut self, iteration: u32) {
        let path = (self.setup.recordings)(iteration);
        let (mailbox, pane) = (self.mailbox.clone(), self.pane);
        thread::spawn(move || {
            let screen = File::open(&path)
                .map_err(|error| format!("{}: {error}", path.display()))
                .and_then(|file| {
                    let lines = BufReader::new(file).lines().map_while(Result::ok);
                    cast::play(lines, pane, SCROLLBACK_ROWS)
                        .map(Box::new)
                        .ok_or_else(|| format!("{}: not a recording", path.display()))
                });
            mailbox.send(Arrived::Recording { iteration, screen })
        });
    }

    pub(super) fn remember_messages(&self) {
        let Some(path) = &self.setup.remembered else { return };
        let mut text = String::new();
        for message in self.model.ui.recall.texts() {
            text += &serde_json::to_string(message).expect("a string has no failing serialiser");
            text.push('\n');
        }
        // The messages themselves are in the journal; without this they are only typed again.
        _ = fs::write(path, text);
    }
}

/// Lines of a patch as they can be shown.
fn diff_lines(text: &str) -> Vec<String> {
    sanitized(text).lines().map(|line| line.replace('\t', "    ")).collect()
}
