//! What arrives from the loop: records and terminal output.

use super::*;

impl Face<'_> {
    pub(super) fn take_event(&mut self, event: UiEvent) -> Turn {
        match event {
            UiEvent::Record(record) => self.take_record(&record),
            UiEvent::Output(bytes) => (self.pending, self.processed) = (bytes, 0),
            UiEvent::Resized(size) => {
                self.recorded = Some(size);
                self.live.resize(self.live_size());
                self.dirty = true;
            }
            UiEvent::Detail(detail) => {
                self.model.log.tell(&detail);
                self.dirty |= self.model.ui.pane == Pane::Log;
            }
            UiEvent::Skipped { bytes } => {
                self.model.ui.dropped_bytes += bytes;
                self.dirty = true;
            }
        }
        Turn::Next
    }

    pub(super) fn take_record(&mut self, record: &Record) {
        if let Event::IterationStarted { .. } = record.event {
            self.live.restart();
        }
        self.model.apply(record);
        self.model.ui.replay = self.source.replay();
        self.dirty = true;
        self.fit();
        if let Event::IterationSettled { iteration, .. } = record.event
            && self.model.ui.pane == Pane::Diff
            && self.model.ui.diff.iteration == Some(iteration)
        {
            self.load_diff(iteration);
        }
        if let Some(reason) = notify::reason(&record.event) {
            self.notify(reason);
        }
    }

    pub(super) fn notify(&mut self, reason: String) {
        // With the next frame: one writer, one order.
        let bytes = notify::bytes(&self.setup.notifier, &reason);
        self.frame.0.borrow_mut().extend_from_slice(&bytes);
        if let Notifier::Call(call) = &self.setup.notifier {
            call(reason);
        }
    }

    pub(super) fn process_slice(&mut self) {
        let end = self.pending.len().min(self.processed + SLICE_BYTES);
        self.live.process(&self.pending[self.processed..end]);
        self.processed = end;
        self.dirty |= self.model.ui.pane == Pane::Terminal;
    }

    /// Starts again with other records: a replay has jumped.
    pub(super) fn jump(&mut self, records: &[Record]) {
        self.model.forget_run();
        self.model.now_ms = 0;
        self.live.restart();
        (self.pending, self.processed) = (Vec::new(), 0);
        for record in records {
            self.model.apply(record);
        }
        self.model.ui.toast = None;
        self.over = false;
        self.fit();
    }

    /// The size of the terminal that is shown: in a replay that of the recording, as far as there is room.
    fn live_size(&self) -> Size {
        let Some(recorded) = self.recorded else {
            return self.pane;
        };
        Size {
            cols: recorded.cols.min(self.pane.cols),
            rows: recorded.rows.min(self.pane.rows),
        }
    }

    /// Gives terminals and agents the size that their pane has now.
    pub(super) fn fit(&mut self) {
        let pane = self.model.layout().pane();
        if pane == self.pane {
            return;
        }
        self.pane = pane;
        self.live.resize(self.live_size());
        if let Some(handle) = &self.setup.handle {
            handle.resize(pane);
        }
    }
}
