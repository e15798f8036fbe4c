//! The loop in this process, as the screen knows it.

use std::time::Instant;

use ralph_core::event::{Record, RequestedBy, UserCommand};
use ralph_driver::{LoopHandle, hub::Subscription};
use ralph_state::control::frames::PollResult;
use ralph_system::proc::Size;
use ralph_ui::tui::{AfterSignal, EventSource, LoopControl, WakeCallback};

/// The events of the loop in this process.
pub(crate) struct LiveSource<'a>(pub(crate) &'a mut Subscription);

impl EventSource for LiveSource<'_> {
    fn past(&mut self, take: &mut dyn FnMut(&Record)) {
        self.0.past(take);
    }

    fn poll(&mut self, deadline: Option<Instant>) -> PollResult {
        self.0.poll(deadline)
    }

    fn waker(&self) -> WakeCallback {
        let waker = self.0.waker();
        Box::new(move || waker.wake())
    }

    fn now_ms(&self) -> u64 {
        ralph_system::os::now_ms()
    }
}

/// The loop in this process, which handles signals itself and ends with the process.
#[derive(Clone)]
pub(crate) struct LiveControl(pub(crate) LoopHandle);

impl LoopControl for LiveControl {
    fn command(&self, command: UserCommand, by: RequestedBy) -> Result<(), String> {
        self.0.command(command, by).map_err(|busy| busy.to_string())
    }

    fn cancel_task(&self, number: u32) -> Result<(), String> {
        self.0.cancel_task(number).map_err(|busy| busy.to_string())
    }

    fn type_bytes(&self, bytes: Vec<u8>) {
        self.0.type_bytes(bytes);
    }

    fn resize(&self, size: Size) {
        self.0.resize(size);
    }

    fn signalled(&self, _: RequestedBy) -> AfterSignal {
        AfterSignal::Stays
    }

    fn outlives_screen(&self) -> bool {
        false
    }
}
