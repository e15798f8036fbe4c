//! The simulated agent: works, lies, undoes work, fails, hangs and vanishes, as its chance wants.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ralph_agent::{Activity, AgentAdapter, AgentError, Capabilities, NotLive, Session, SessionCommand, SessionRequest};
use ralph_core::{
    event::{AgentSignal, Exit, Problem, ProblemKind, Text, ToolKinds, Usage},
    testing::Dice,
};
use ralph_plan::claims::promise_line;
use ralph_system::proc::{Size, StopSpeed};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::sleep,
};

use super::{
    soak::{ITERATION, Sample},
    world::World,
};

pub(super) const ID: &str = "simulated";
pub(super) const PROMISE: &str = "DONE-SIMULATED";

pub(super) struct SimulatedAgent(pub(super) Arc<World>);

impl AgentAdapter for SimulatedAgent {
    fn id(&self) -> &'static str {
        ID
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            live_steering: false,
            permissions: false,
            asks: ToolKinds::NONE,
            dispensable: ToolKinds::NONE,
            resume: false,
            usage: true,
            cost: false,
            usage_in_turn: true,
        }
    }

    fn check(&self, _cwd: &Path) -> Result<(), AgentError> {
        Ok(())
    }

    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let world = Arc::clone(&self.0);
        let number = {
            let mut sessions = world.sessions.lock();
            sessions.push((request.run.clone(), request.iteration));
            u32::try_from(sessions.len()).expect("few sessions")
        };
        if world.is_steady {
            let state = world.project.with_file_name("state");
            world.samples.lock().extend(Sample::take(number, &state));
        }
        let (stop, stopped) = watch::channel(None);
        let written = Arc::new(AtomicU64::new(0));
        let alive = Alive::new(Arc::clone(&world));
        let turn = Turn {
            dice: world.dice("agent", number),
            world,
            out,
            written: Arc::clone(&written),
            request,
        };
        Box::new(SimulatedSession {
            stop,
            written,
            task: tokio::spawn(turn.run(stopped, alive)),
        })
    }
}

/// Counts a session as long as it is alive.
struct Alive(Arc<World>);

impl Alive {
    fn new(world: Arc<World>) -> Self {
        world.alive.fetch_add(1, Ordering::Relaxed);
        Alive(world)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.alive.fetch_sub(1, Ordering::Relaxed);
    }
}

struct SimulatedSession {
    stop: watch::Sender<Option<StopSpeed>>,
    written: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Drop for SimulatedSession {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Session for SimulatedSession {
    fn stop(&self, stop: StopSpeed) {
        _ = self.stop.send(Some(stop)); // it may have ended
    }

    fn resize(&self, _size: Size) {}

    fn type_bytes(&self, _bytes: &[u8]) {}

    fn send(&self, _command: SessionCommand) -> Result<(), NotLive> {
        Err(NotLive)
    }

    fn activity(&self) -> Activity {
        Activity {
            output_bytes: self.written.load(Ordering::Relaxed),
            cpu: Duration::ZERO,
        }
    }
}

struct Turn {
    dice: Dice,
    world: Arc<World>,
    out: mpsc::Sender<AgentSignal>,
    written: Arc<AtomicU64>,
    request: SessionRequest,
}

impl Turn {
    async fn run(mut self, mut stopped: watch::Receiver<Option<StopSpeed>>, _alive: Alive) {
        let obeys = self.dice.roll(4) > 0;
        let asked = async {
            let is_enough = |stop: &Option<StopSpeed>| match stop {
                Some(StopSpeed::Immediate) => true,
                Some(StopSpeed::Graceful) => obeys,
                None => false,
            };
            if stopped.wait_for(is_enough).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let is_over = tokio::select! {
            biased;
            () = asked => false,
            () = self.work() => true,
        };
        if !is_over {
            self.say(AgentSignal::Ended {
                exit: Some(Exit::Signal { signal: 15 }),
                output_bytes: self.written.load(Ordering::Relaxed),
            })
            .await;
        }
    }

    async fn work(&mut self) {
        self.say(AgentSignal::Opened {
            session: None,
            model: Some("simulated-1".to_owned()),
        })
        .await;
        if self.world.is_steady {
            sleep(ITERATION).await;
            let done = format!("iteration {}", self.request.iteration);
            fs::write(self.world.work(1), done).expect("the work");
            return self.ended(Ok("A little is done.".to_owned())).await;
        }
        let steps = self.dice.roll(7);
        for step in 0..steps {
            self.rest().await;
            self.step(step).await;
        }
        self.rest().await;
        self.end().await;
    }

    /// Mostly some seconds, and sometimes longer than ralph waits.
    async fn rest(&mut self) {
        let most_ms = [2_000, 60_000, 60_000, 400_000, 3_000_000][self.dice.index(5)];
        sleep(Duration::from_millis(self.dice.roll(most_ms))).await;
    }

    async fn step(&mut self, step: u64) {
        let open = (1..=self.world.tasks).find(|task| !self.world.is_ticked(*task));
        let task = open.unwrap_or(1);
        match self.dice.roll(12) {
            0..=3 => {
                fs::write(self.world.work(task), "done").expect("the work");
                self.world.tick(task, true);
            }
            4 => fs::write(self.world.work(task), "done").expect("the work"),
            5 => self.world.tick(task, true),
            6 => {
                let task = 1 + self.below(self.world.tasks);
                _ = fs::remove_file(self.world.work(task)); // it may not be done
            }
            7 => {
                let task = 1 + self.below(self.world.tasks);
                self.world.tick(task, false);
            }
            8 => {
                let call = format!("call-{step}");
                self.say(AgentSignal::ToolStarted {
                    call: call.clone(),
                    tool: "Bash".to_owned(),
                    input: "make".to_owned(),
                })
                .await;
                self.rest().await;
                self.say(AgentSignal::ToolEnded {
                    call,
                    tool: "Bash".to_owned(),
                    ok: true,
                    output: "made".to_owned(),
                    duration_ms: None,
                })
                .await;
            }
            9 => {
                let tokens = Some(self.dice.roll(10_000));
                let usage = Usage {
                    input_tokens: tokens,
                    ..Usage::default()
                };
                self.say(AgentSignal::Usage { usage }).await;
            }
            10 => fs::write(self.world.project.join(".ralph-done"), "").expect("the file that claims the end"),
            _ => {
                self.request.display.show(b"working\r\n");
                let text = "I am working.".to_owned();
                self.say(AgentSignal::Said { text }).await;
            }
        }
    }

    async fn end(&mut self) {
        let claim = format!("All tasks are done.\n\n{}", promise_line(PROMISE));
        let all_ticked = (1..=self.world.tasks).all(|task| self.world.is_ticked(task));
        match self.dice.roll(16) {
            0..=6 if all_ticked => self.ended(Ok(claim)).await,
            0..=6 => self.ended(Ok("One task less.".to_owned())).await,
            // A claim without the work.
            7 => self.ended(Ok(claim)).await,
            8 => {
                let until_ms = (self.dice.roll(2) == 0).then(|| self.world.began_ms.load(Ordering::Relaxed));
                let until_ms = until_ms.map(|began_ms| began_ms + self.dice.roll(36_000_000));
                self.ended(Err(ProblemKind::RateLimited { until_ms })).await;
            }
            9 | 10 => self.ended(Err(ProblemKind::Network)).await,
            11 => self.ended(Err(ProblemKind::Overloaded)).await,
            12 => self.ended(Err(ProblemKind::Other)).await,
            13 => self.ended(Err(ProblemKind::Crashed)).await,
            // The channel closes without a word.
            14 => {}
            _ => std::future::pending().await,
        }
    }

    async fn ended(&mut self, how: Result<String, ProblemKind>) {
        let (ok, message, code) = match how {
            Ok(message) => (true, Some(message), 0),
            Err(kind) => {
                let problem = Problem {
                    kind,
                    text: Text::from("it did not work"),
                    finding: None,
                };
                self.say(AgentSignal::Problem { problem }).await;
                (false, None, 1)
            }
        };
        self.say(AgentSignal::TurnEnded { ok, message }).await;
        self.say(AgentSignal::Ended {
            exit: Some(Exit::Code { code }),
            output_bytes: self.written.load(Ordering::Relaxed),
        })
        .await;
    }

    async fn say(&mut self, signal: AgentSignal) {
        self.written.fetch_add(10, Ordering::Relaxed);
        self.world
            .tell(|| format!("agent #{}: {signal:?}", self.request.iteration));
        _ = self.out.send(signal).await; // ralph may be gone
    }

    fn below(&mut self, most: u32) -> u32 {
        u32::try_from(self.dice.roll(u64::from(most))).expect("it is below a u32")
    }
}
