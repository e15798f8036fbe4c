//! The simulated user, who gives commands and sets the clock, and clients that go away before they are answered.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use ralph_core::{
    event::{RunId, SteeringKind, StopRequest, UserCommand},
    testing::Dice,
};
use ralph_state::control::{ClientRole, ControlReply, ControlRequest};
use tokio::time::{sleep, timeout};

use super::world::World;
use crate::LoopHandle;

/// Gives commands as long as the loop goes on. In the last life the user only lets it work.
pub(super) async fn command(world: Arc<World>, life: u32, is_last: bool, handle: LoopHandle, run: RunId) {
    let mut dice = world.dice("user", life);
    // A pause of an earlier life would last for ever.
    ask(&world, &handle, UserCommand::Resume).await;
    for message in 0.. {
        sleep(Duration::from_millis(dice.roll(7_200_000))).await;
        match dice.roll(if is_last { 3 } else { 10 }) {
            0 | 1 => _ = ask(&world, &handle, UserCommand::RetryNow).await,
            2 => _ = ask(&world, &handle, UserCommand::ResetCircuit).await,
            3 | 4 => {
                let text = format!("message {message} of life {life}");
                let kind = [SteeringKind::Next, SteeringKind::Now, SteeringKind::Standing][dice.index(3)];
                let steer = UserCommand::Steer {
                    kind,
                    text: text.clone(),
                };
                if ask(&world, &handle, steer).await {
                    world.accepted.lock().push((run.clone(), text));
                }
            }
            5 => {
                ask(&world, &handle, UserCommand::Pause).await;
                sleep(Duration::from_millis(dice.roll(3_600_000))).await;
                ask(&world, &handle, UserCommand::Resume).await;
            }
            6 => _ = ask(&world, &handle, UserCommand::Skip).await,
            7 => {
                let stop = [
                    StopRequest::AfterIteration,
                    StopRequest::Graceful,
                    StopRequest::Immediate,
                ][dice.index(3)];
                if dice.roll(3) == 0 {
                    ask(&world, &handle, UserCommand::Stop { stop }).await;
                }
            }
            // A machine that slept has such a gap, too.
            _ => set_clock(&world, &mut dice),
        }
    }
}

fn set_clock(world: &World, dice: &mut Dice) {
    let by_ms = i64::try_from(dice.roll(8 * 3_600_000)).expect("some hours") - 3_600_000;
    world.tell(|| format!("the wall clock is set by {by_ms} ms"));
    world.set_ms.fetch_add(by_ms, Ordering::Relaxed);
}

/// Returns whether the loop has accepted the command.
async fn ask(world: &World, handle: &LoopHandle, command: UserCommand) -> bool {
    world.tell(|| format!("user: {command:?}"));
    let reply = handle.ask(ControlRequest::Command { command }, ClientRole::User).await;
    matches!(reply, ControlReply::Done { .. })
}

/// Sends requests, and goes away before they are answered, as a client does whose connection breaks.
pub(super) async fn break_off(world: Arc<World>, life: u32, handle: LoopHandle) {
    let mut dice = world.dice("client", life);
    loop {
        sleep(Duration::from_millis(dice.roll(600_000))).await;
        let request = match dice.roll(3) {
            0 => ControlRequest::Command {
                command: UserCommand::RetryNow,
            },
            _ => ControlRequest::Status,
        };
        let role = [ClientRole::User, ClientRole::Reader, ClientRole::Agent][dice.index(3)];
        let most = Duration::from_millis(dice.roll(2));
        _ = timeout(most, handle.ask(request, role)).await;
    }
}
