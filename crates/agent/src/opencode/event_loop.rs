//! The loop of a session over the server's events: answers requests, and reopens a lost stream.

use std::{future::pending, sync::Arc, time::Duration};

use ralph_core::event::{AgentSignal, AskId, PermissionAnswer, Problem, ProblemKind, SubagentStart};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{
    ServerError,
    asks::{PermissionReply, ReceivedRequest},
    client::OpencodeClient,
    feed::Feed,
    handle::SteeringMessage,
    outbox, permission,
    problem::problem_from_server,
    server::ManagedServer,
    task::SessionTask,
    turn::{NextAction, ServerTurn},
    wire::{EventKind, SessionStatus, WirePermission, WireQuestion},
};

/// How long the server may take to confirm that a stream is open.
const CONNECTED: Duration = Duration::from_secs(30);
/// First and longest pause between two attempts to reopen a lost stream.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);
/// Heartbeats without an event of the session, after which the server is asked for its state.
const QUIET_BEATS: u32 = 2;
/// The number of messages that are read when a turn seems to be over, and after the stream was lost.
const LAST_MESSAGES: u32 = 50;
const MISSED_MESSAGES: u32 = 500;
/// The pause between two looks at a turn whose state is unclear, and the number of looks.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
const LOOKS: u32 = 120;

/// The result of a look at the server.
enum TurnProgress {
    Over,
    Works,
    /// The session is idle, and has not finished its turn.
    Unclear,
}

/// The reason why a step failed.
pub(super) enum StepFailure {
    /// The stream was lost; the turn may go on.
    Stream(String),
    Turn(Problem),
}

impl SessionTask {
    /// Processes the next event or request, and returns whether the turn is over.
    pub(super) async fn step(
        &mut self,
        client: &OpencodeClient,
        feed: &mut Feed,
        turn: &mut ServerTurn,
    ) -> Result<bool, StepFailure> {
        let managed = self.managed();
        let look_at = self.look_at;
        let look = async {
            match look_at {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        let event = tokio::select! {
            biased;
            why = end_of(managed.as_ref()) => {
                return Err(StepFailure::Turn(crashed(format!("the server ended: {why}"))));
            }
            Some(message) = self.job.steering.recv() => {
                self.steer(client, turn.session(), message);
                return Ok(false);
            }
            Some((id, answer)) = self.job.answers.recv() => {
                self.answer(client, &id, answer);
                return Ok(false);
            }
            Some(signals) = self.outbox.join_next(), if !self.outbox.is_empty() => {
                self.request_ended(signals.unwrap_or_default()).await;
                return Ok(false);
            }
            () = look => return Ok(self.look(client, turn).await),
            event = feed.next() => event,
        };
        let (event, bytes) = event.map_err(StepFailure::Stream)?;
        let beat = event.kind == EventKind::Heartbeat;
        if event.kind.session().is_some_and(|session| turn.is_family(session)) {
            self.quiet_beats = 0;
            self.job.shared.add_output(bytes);
        }
        let mut signals = Vec::new();
        let next = turn.take(event, &self.clock(), &mut signals);
        self.job.shared.set_using_a_tool(turn.is_using_a_tool());
        self.say(signals).await;
        if let Some(problem) = turn.fatal_problem(&self.clock()) {
            return Err(StepFailure::Turn(problem));
        }
        if beat {
            self.job.shared.beat();
            self.quiet_beats += 1;
        }
        match next {
            NextAction::AskPermission(permission) => self.ask_permission(client, permission).await,
            NextAction::PermissionAnswered { id, allowed } => {
                if allowed && self.is_allowed_by_another(&id) {
                    return Err(StepFailure::Turn(answered_by_another()));
                }
                self.permission_answered(client, &id).await;
            }
            NextAction::AskQuestion(question) => self.ask_question(question).await,
            NextAction::QuestionAnswered(id) => self.question_answered(id).await,
            NextAction::GoOn if beat && self.quiet_beats >= QUIET_BEATS => {
                self.quiet_beats = 0;
                return Ok(self.look(client, turn).await);
            }
            NextAction::GoOn => {}
            NextAction::Look => return Ok(self.look(client, turn).await),
        }
        Ok(false)
    }

    fn managed(&self) -> Option<Arc<ManagedServer>> {
        self.server.as_ref().and_then(|server| server.managed.clone())
    }

    /// Asks the server whether the turn is over. A failed or unclear look is repeated later.
    async fn look(&mut self, client: &OpencodeClient, turn: &mut ServerTurn) -> bool {
        self.look_at = None;
        match self.check_turn(client, turn, LAST_MESSAGES).await {
            Ok(TurnProgress::Over) => true,
            Ok(TurnProgress::Works) => {
                self.looks = 0;
                false
            }
            Ok(TurnProgress::Unclear) | Err(_) => {
                self.looks += 1;
                self.look_at = Some(Instant::now() + LOOK_AGAIN);
                self.looks > LOOKS
            }
        }
    }

    async fn check_turn(
        &mut self,
        client: &OpencodeClient,
        turn: &mut ServerTurn,
        limit: u32,
    ) -> Result<TurnProgress, ServerError> {
        // A message that is still being sent keeps the turn going, or starts it again.
        while let Some(signals) = self.outbox.join_next().await {
            self.request_ended(signals.unwrap_or_default()).await;
        }
        let statuses = client.statuses().await?;
        let listed = client.messages(turn.session(), limit).await?;
        let mut signals = Vec::new();
        turn.catch_up(&listed, &self.clock(), &mut signals);
        self.say(signals).await;
        Ok(match statuses.get(turn.session()) {
            Some(SessionStatus::Busy | SessionStatus::Retry { .. } | SessionStatus::Other) => TurnProgress::Works,
            Some(SessionStatus::Idle) | None if turn.is_unanswered(self.prompts) => TurnProgress::Unclear,
            Some(SessionStatus::Idle) | None => TurnProgress::Over,
        })
    }

    /// Closes steering and returns whether the turn is done. A message that was accepted but not sent yet reopens it.
    pub(super) fn is_done(&mut self, client: &OpencodeClient, turn: &ServerTurn) -> bool {
        self.job.shared.close_steering();
        let Ok(message) = self.job.steering.try_recv() else {
            return true;
        };
        self.steer(client, turn.session(), message);
        self.job.shared.open_steering();
        false
    }

    /// Takes the result of a background request.
    async fn request_ended(&mut self, signals: Vec<AgentSignal>) {
        let refused = |signal: &AgentSignal| matches!(signal, AgentSignal::MessageAnswered { taken: false, .. });
        if signals.iter().any(refused) {
            self.prompts -= 1;
        }
        self.say(signals).await;
    }

    fn steer(&mut self, client: &OpencodeClient, session: &str, message: SteeringMessage) {
        self.prompts += 1;
        let prompt_options = self.job.prompt_options.clone();
        self.outbox.spawn(outbox::steer(
            client.clone(),
            session.to_owned(),
            message,
            prompt_options,
        ));
    }

    /// Requests a decision on a permission, unless a more detailed request for the same use follows.
    async fn ask_permission(&mut self, client: &OpencodeClient, permission: WirePermission) {
        if self.job.asks && permission::is_followed_by_another(&permission) {
            let reply = self.asks.allow(&permission);
            return self.reply(client, reply.into_iter().collect());
        }
        match self.asks.receive(&permission) {
            ReceivedRequest::Asked => {
                let mut request = Box::new(permission::request(&permission, &self.context));
                if self.job.subagent_tools.contains(&permission.permission) {
                    request.subagent = match self.counts_subagents {
                        true => SubagentStart::Counted,
                        false => SubagentStart::Yes,
                    };
                }
                self.say(vec![AgentSignal::PermissionRequested { request }]).await;
            }
            ReceivedRequest::Known | ReceivedRequest::NoRoom => {}
        }
    }

    /// Whether another client allowed a request on which only ralph decides. Only ralph and the processes of its server
    /// know that server's password.
    fn is_allowed_by_another(&self, id: &str) -> bool {
        self.job.asks && self.managed().is_some() && !self.asks.has_allowed(id)
    }

    async fn permission_answered(&mut self, client: &OpencodeClient, id: &str) {
        let (withdrawn, replies) = self.asks.answered(id);
        if withdrawn {
            let id = AskId(id.to_owned());
            self.say(vec![AgentSignal::PermissionWithdrawn { id }]).await;
        }
        self.reply(client, replies);
    }

    fn reply(&mut self, client: &OpencodeClient, replies: Vec<PermissionReply>) {
        if !replies.is_empty() {
            self.outbox.spawn(outbox::answer_permissions(client.clone(), replies));
        }
    }

    /// Passes a question on to the user.
    async fn ask_question(&mut self, question: WireQuestion) {
        if self.questions.contains_key(&question.id) {
            return;
        }
        self.questions.insert(question.id.clone(), question.questions.len());
        let request = Box::new(permission::questions(&question));
        self.say(vec![AgentSignal::PermissionRequested { request }]).await;
    }

    async fn question_answered(&mut self, id: String) {
        if self.questions.remove(&id).is_some() {
            self.say(vec![AgentSignal::PermissionWithdrawn { id: AskId(id) }]).await;
        }
    }

    /// Sends the server a decision or an answer.
    fn answer(&mut self, client: &OpencodeClient, id: &AskId, answer: PermissionAnswer) {
        let Some(count) = self.questions.remove(&id.0) else {
            let replies = self.asks.decided(id, answer);
            return self.reply(client, replies);
        };
        let answers = match answer {
            PermissionAnswer::Words { answers } => answers,
            PermissionAnswer::Deny { message } => vec![vec![message]; count],
            PermissionAnswer::Allow => vec![Vec::new(); count],
        };
        self.outbox
            .spawn(outbox::answer_question(client.clone(), id.0.clone(), answers));
    }

    /// Reopens a lost stream and catches up on missed events. Also returns whether the turn has ended meanwhile.
    pub(super) async fn reconnect(
        &mut self,
        client: &OpencodeClient,
        turn: &mut ServerTurn,
        why: String,
    ) -> Result<(Feed, bool), Problem> {
        let managed = self.managed();
        let deadline = Instant::now() + self.job.options.patience.reconnect;
        let mut pause = RECONNECT_PAUSE;
        loop {
            let error = match self.resume_stream(client, turn).await {
                Ok(resumed) => {
                    // Reported once: the stream of a server without heartbeats is lost again and again.
                    if !std::mem::replace(&mut self.lost, true) {
                        let text = format!("the server's event stream was lost ({why}) and is re-established");
                        self.note(Some(text)).await;
                    }
                    return Ok(resumed);
                }
                Err(error @ ServerError::Unauthorized { .. }) => return Err(problem_from_server(&error)),
                Err(error) => error,
            };
            tokio::select! {
                why = end_of(managed.as_ref()) => return Err(crashed(format!("the server ended: {why}"))),
                () = sleep(pause) => {}
            }
            if Instant::now() >= deadline {
                let problem = problem_from_server(&error);
                let text = format!(
                    "the server's event stream was lost ({why}) and could not be re-established: {}",
                    problem.text
                );
                return Err(Problem {
                    text: text.into(),
                    ..problem
                });
            }
            pause = (pause * 2).min(RECONNECT_PAUSE_MAX);
        }
    }

    async fn resume_stream(
        &mut self,
        client: &OpencodeClient,
        turn: &mut ServerTurn,
    ) -> Result<(Feed, bool), ServerError> {
        // The stream is opened before the messages are read: events in between are in both, and count once.
        let feed = connect(client).await?;
        for child in client.children(turn.session()).await.unwrap_or_default() {
            turn.adopt(child.id);
        }
        let permissions = client.permissions().await?;
        for id in self.asks.gone(&permissions) {
            self.permission_answered(client, &id).await;
        }
        for permission in permissions {
            if turn.is_family(&permission.session) {
                self.ask_permission(client, permission).await;
            }
        }
        let questions = client.questions().await?;
        let is_gone = |id: &&String| !questions.iter().any(|question| question.id == **id);
        for id in self.questions.keys().filter(is_gone).cloned().collect::<Vec<_>>() {
            self.question_answered(id).await;
        }
        for question in questions {
            if turn.is_family(&question.session) {
                self.ask_question(question).await;
            }
        }
        let over = match self.check_turn(client, turn, MISSED_MESSAGES).await? {
            TurnProgress::Over => true,
            TurnProgress::Works => false,
            TurnProgress::Unclear => {
                self.look_at = Some(Instant::now() + LOOK_AGAIN);
                false
            }
        };
        Ok((feed, over))
    }
}

/// Waits for the end of a server's process; forever if ralph did not start it.
async fn end_of(managed: Option<&Arc<ManagedServer>>) -> String {
    match managed {
        Some(managed) => managed.monitor.ended().await,
        None => pending().await,
    }
}

/// Opens the stream of events and waits until the server confirms it.
pub(super) async fn connect(client: &OpencodeClient) -> Result<Feed, ServerError> {
    let foreign = || ServerError::Foreign {
        url: client.url().clone(),
    };
    let opened = async {
        let mut feed = client.events().await?;
        loop {
            let (event, _) = feed.next().await.map_err(|_| foreign())?;
            if event.kind == EventKind::Connected {
                return Ok(feed);
            }
        }
    };
    timeout(CONNECTED, opened).await.unwrap_or_else(|_| Err(foreign()))
}

fn answered_by_another() -> Problem {
    let text =
        "another client, possibly the agent itself, answered a permission request, so the rules cannot be enforced";
    Problem::said(ProblemKind::Usage, text.to_owned())
}

fn crashed(text: String) -> Problem {
    Problem::said(ProblemKind::Crashed, text)
}
