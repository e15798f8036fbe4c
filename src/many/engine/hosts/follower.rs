//! Follows one job from its start on a host to the moment when its work is here, on a thread of its own.
//!
//! A host that does not answer is waited for: its run goes on there, and only the host can say that it does not. A job
//! is started elsewhere only if it cannot have begun.

use std::{
    collections::BTreeSet,
    fs,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use ralph_plan::batch::{Batch, BatchPlan, EngineEnd, EngineJob, JobEnd, JobNews, TaskResult};
use ralph_system::files;
use ralph_words::plan_commit_message;

use super::{
    super::{
        super::{
            job::EndedJob,
            node::{BUNDLE_CAP_BYTES, BundleHeader, JobState, NodeJob, NodeReply, NodeRequest, StartRequest},
            worker::{RunsBeforeJob, Site},
        },
        follow::{JobHandle, JobOrder, NewsSender, nameable},
        running::JobUpdate,
    },
    carry::{self, NodeRecord},
    copy::{JobCopy, PART_CAP_BYTES},
    slots::{HeldSlot, HostSlots},
    transport::{CARRYING, NodeConversation, NodeFailure, NodeTransport},
    tunnel::Tunnel,
};

/// How often all hosts are tried before a plan is left as it is: a host may refuse connections that come all at once.
const ATTEMPTS: u32 = 3;
/// Longest time without a look at orders.
const LOOK: Duration = Duration::from_millis(200);
/// The pause before another attempt to reach a host; it doubles up to the second one.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];

/// Follows a plan's existing job, or starts a new one.
///
/// # Errors
/// If no thread can be started.
pub(super) fn start(
    transport: NodeTransport,
    slots: Arc<HostSlots>,
    site: &Arc<Site>,
    (batch, plan): (&Batch, &BatchPlan),
    news: NewsSender,
) -> Result<JobHandle, String> {
    let (sender, orders) = mpsc::channel();
    let (args, before) = site.run_arguments(batch, plan)?;
    let args = args.into_iter().map(|arg| {
        arg.into_string()
            .map_err(|arg| format!("{} is not valid UTF-8", arg.display()))
    });
    let follower = HostFollower {
        args: args.collect::<Result<_, _>>()?,
        prefix: format!("{}-{}", nameable(&site.job_id(&plan.name)), plan.jobs),
        transport,
        slots,
        site: Arc::clone(site),
        target: batch.target.clone(),
        plan: plan.clone(),
        before,
        orders,
        news,
        reported_problem: None,
        pause: PAUSES[0],
        is_stopping: false,
    };
    let known = plan.job.clone();
    thread::Builder::new()
        .name("job".to_owned())
        .spawn(move || follower.run(known))
        .map_err(|error| error.to_string())?;
    Ok(JobHandle::new(sender))
}

struct HostFollower {
    transport: NodeTransport,
    slots: Arc<HostSlots>,
    site: Arc<Site>,
    target: String,
    plan: BatchPlan,
    args: Vec<String>,
    /// Common prefix of the names of this job's attempts.
    prefix: String,
    /// The state before the job.
    before: RunsBeforeJob,
    orders: Receiver<JobOrder>,
    news: NewsSender,
    /// The last reported complaint about a host; `None` once it has answered.
    reported_problem: Option<String>,
    pause: Duration,
    /// The job was asked to end.
    is_stopping: bool,
}

/// A job that its host has.
struct StartedJob {
    record: NodeRecord,
    _slot: HeldSlot,
}

impl StartedJob {
    fn host(&self) -> &str {
        &self.record.host
    }
}

/// The rest of a follower's work: the last news.
type Last = JobUpdate;

impl HostFollower {
    fn run(mut self, known: Option<EngineJob>) {
        let last = match self.begin(known) {
            Ok(job) => self.follow(&job),
            Err(last) => last,
        };
        (self.news)(last);
    }

    fn end(&self, end: EngineEnd) -> Last {
        let engine = self.transport.manifest.id.clone();
        self.ended(JobEnd::Engine { engine, end })
    }

    fn ended(&self, end: JobEnd) -> Last {
        JobUpdate::Ended(self.site.task_result(&self.plan.name, &self.before, end))
    }

    /// Reports a problem with a host, once until it answers or the problem changes.
    fn report_problem(&mut self, why: String) {
        if self.reported_problem.as_ref() != Some(&why) {
            (self.news)(JobUpdate::Progress(JobNews::Silent { why: why.clone() }));
            self.reported_problem = Some(why);
        }
    }

    fn answered(&mut self) {
        self.reported_problem = None;
        self.pause = PAUSES[0];
    }

    fn job(&self, name: &str) -> NodeJob {
        carry::node_job(&self.site, &self.plan.name, name)
    }

    /// Waits before another attempt. Returns the last news if the job is to be left.
    fn wait_to_retry(&mut self) -> Result<(), Last> {
        let ordered = self.orders.recv_timeout(self.pause);
        self.pause = (self.pause * 2).min(PAUSES[1]);
        match ordered {
            Ok(JobOrder::End) => {
                self.is_stopping = true;
                self.pause = PAUSES[0];
                Ok(())
            }
            Ok(JobOrder::Leave) | Err(RecvTimeoutError::Disconnected) => Err(JobUpdate::Detached),
            Err(RecvTimeoutError::Timeout) => Ok(()),
        }
    }

    /// Finds the job that a host has, or starts one.
    fn begin(&mut self, known: Option<EngineJob>) -> Result<StartedJob, Last> {
        if let Some(EngineJob {
            name, id: Some(host), ..
        }) = known
        {
            let record = NodeRecord::read(&self.site, &name).unwrap_or_else(|| NodeRecord {
                plan: self.plan.name.clone(),
                name,
                host: host.clone(),
                before: self.before.clone(),
                log_bytes: 0,
                sent: String::new(),
                merging: None,
            });
            self.before = record.before.clone();
            return Ok(StartedJob {
                record,
                _slot: self.slots.occupy(&host),
            });
        }
        let number = (1..)
            .map_while(|number| NodeRecord::read(&self.site, &format!("{}-{number}", self.prefix)))
            .count();
        if let Some(record) = NodeRecord::read(&self.site, &format!("{}-{number}", self.prefix)) {
            // A batch that was killed has told the host of this job, or was about to.
            let slot = self.slots.occupy(&record.host);
            if let Some(started) = self.start_on(slot, record)? {
                return Ok(started);
            }
        }
        let latest = NodeRecord::latest(&self.site, &self.plan.name).map(|record| record.host);
        let mut refused = BTreeSet::new();
        let mut attempt = 1;
        for number in number + 1.. {
            let slot = self.free_slot(latest.as_deref(), &refused)?;
            let host = slot.host.clone();
            let record = self.record(format!("{}-{number}", self.prefix), &host);
            let written = record.and_then(|record| record.write(&self.site).map(|()| record));
            let record = written.map_err(|why| JobUpdate::Ended(TaskResult::Failed { why }))?;
            if let Some(started) = self.start_on(slot, record)? {
                return Ok(started);
            }
            refused.insert(host);
            if self.slots.are_all_in(&refused) {
                if attempt == ATTEMPTS {
                    let why = self.reported_problem.clone().unwrap_or_default();
                    return Err(self.end(EngineEnd::NotSubmitted { why }));
                }
                attempt += 1;
                refused.clear();
                self.wait_to_retry()?;
            }
        }
        unreachable!("the last attempt ends the search")
    }

    fn free_slot(&mut self, latest: Option<&str>, refused: &BTreeSet<String>) -> Result<HeldSlot, Last> {
        loop {
            if let Some(slot) = self.slots.take(latest, refused) {
                return Ok(slot);
            }
            match self.orders.recv_timeout(LOOK) {
                Ok(JobOrder::End) => return Err(self.end(EngineEnd::Withdrawn)),
                Ok(JobOrder::Leave) | Err(RecvTimeoutError::Disconnected) => return Err(JobUpdate::Detached),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn record(&self, name: String, host: &str) -> Result<NodeRecord, String> {
        let request = carry::start_request(&self.site, &self.plan, &name, Vec::new(), Vec::new())?;
        Ok(NodeRecord {
            plan: self.plan.name.clone(),
            name,
            host: host.to_owned(),
            before: self.before.clone(),
            log_bytes: fs::metadata(self.site.paths.log(&self.plan.name)).map_or(0, |log| log.len()),
            sent: request.tip,
            merging: request.merge.map(|merge| merge.commit),
        })
    }

    /// Starts a job on its host. `None` if the host has refused it, or never answered: it has not begun then.
    fn start_on(&mut self, slot: HeldSlot, record: NodeRecord) -> Result<Option<StartedJob>, Last> {
        let name = record.name.clone();
        let (args, env) = (self.args.clone(), self.transport.manifest.env.clone());
        let mut may_have_begun = false;
        loop {
            if self.is_stopping && !may_have_begun {
                return Err(self.end(EngineEnd::Withdrawn));
            }
            let request = carry::start_request(&self.site, &self.plan, &name, args.clone(), env.clone());
            let request = request.map_err(|why| JobUpdate::Ended(TaskResult::Failed { why }))?;
            match self.try_start(&record.host, request) {
                Ok(JobState::Withdrawn) => return Ok(None),
                Ok(JobState::Absent) => {
                    self.report_problem(format!("has not started the job on {}", record.host));
                    return Ok(None);
                }
                Ok(JobState::Running | JobState::Ended { .. } | JobState::Gone) => {
                    self.answered();
                    let id = Some(record.host.clone());
                    (self.news)(JobUpdate::Progress(JobNews::Submitted { name, id }));
                    (self.news)(JobUpdate::Progress(JobNews::Began));
                    return Ok(Some(StartedJob { record, _slot: slot }));
                }
                Err(NodeFailure::NotReady { why } | NodeFailure::Refused { why }) if !may_have_begun => {
                    self.report_problem(why);
                    return Ok(None);
                }
                Err(failure) => {
                    may_have_begun = true;
                    self.report_problem(failure.to_string());
                    self.wait_to_retry()?;
                    if self.is_stopping {
                        self.stop(&record.host, &record.name);
                    }
                }
            }
        }
    }

    fn try_start(&self, host: &str, request: StartRequest) -> Result<JobState, NodeFailure> {
        let plan = &self.plan.name;
        let mut conversation = self
            .transport
            .open(host, &NodeRequest::Start(Box::new(request.clone())))?;
        let known = match conversation.reply(CARRYING)? {
            NodeReply::Ready { known } => known,
            // It was started before.
            NodeReply::State { state } => return Ok(state),
            other => return Err(conversation.unexpected(&other)),
        };
        let unread = |why: String| NodeFailure::Refused { why };
        let outgoing = carry::outgoing(&self.site, (&self.target, plan), &request, &known).map_err(unread)?;
        match outgoing {
            None => conversation.tell(&BundleHeader { bytes: 0 })?,
            Some(path) => {
                let opened = files::open_regular(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
                carry::remove_bundle(&self.site, plan);
                let (bytes, mut file) =
                    opened.map_err(|error| unread(format!("cannot send {}: {error}", path.display())))?;
                conversation.tell(&BundleHeader { bytes })?;
                conversation.send_file(&mut file)?;
            }
        }
        match conversation.reply(CARRYING)? {
            NodeReply::State { state } => Ok(state),
            other => Err(conversation.unexpected(&other)),
        }
    }

    /// Asks the job to end, or never to begin.
    fn stop(&mut self, host: &str, name: &str) {
        let job = self.job(name);
        if let Err(failure) = self.transport.ask(host, &NodeRequest::Stop { job }) {
            self.report_problem(format!("{failure}; its run goes on there"));
        }
    }

    /// Copies the job's records until it is over, and brings its work here.
    fn follow(&mut self, job: &StartedJob) -> Last {
        let mut tunnel = None;
        let mut stopped: Option<Instant> = None;
        loop {
            let followed = self.follow_once(job, &mut tunnel, &mut stopped);
            match followed {
                Ok(Followed::Left) => return JobUpdate::Detached,
                Ok(Followed::Over(state)) => {
                    drop(tunnel);
                    return self.conclude(job, state);
                }
                Err(why) => {
                    self.report_problem(format!("{why}; its run goes on there"));
                    if let Err(last) = self.wait_to_retry() {
                        return last;
                    }
                }
            }
        }
    }

    /// Follows the job over one connection.
    fn follow_once(
        &mut self,
        job: &StartedJob,
        tunnel: &mut Option<Tunnel>,
        stopped: &mut Option<Instant>,
    ) -> Result<Followed, String> {
        let (site, plan) = (Arc::clone(&self.site), self.plan.name.clone());
        let copy = JobCopy::new(&site, &plan, job.record.log_bytes)?;
        let request = NodeRequest::Follow {
            job: self.job(&job.record.name),
            journals: copy.journals(),
            log_bytes: copy.log_bytes(),
        };
        let opened = self.transport.open(job.host(), &request);
        let mut conversation = opened.map_err(|failure| failure.to_string())?;
        let mut heard = Instant::now();
        let patience = self.transport.manifest.patience;
        loop {
            match self.orders.try_recv() {
                Ok(JobOrder::End) => self.is_stopping = true,
                Ok(JobOrder::Leave) | Err(mpsc::TryRecvError::Disconnected) => return Ok(Followed::Left),
                Err(mpsc::TryRecvError::Empty) => {}
            }
            if self.is_stopping && stopped.is_none_or(|at| at.elapsed() >= patience) {
                *stopped = Some(Instant::now());
                self.stop(job.host(), &job.record.name);
            }
            let reply = conversation.reply_within(LOOK).map_err(|failure| failure.to_string())?;
            match reply {
                None if heard.elapsed() >= patience => {
                    let seconds = patience.as_secs();
                    return Err(format!("hears nothing of {} for {seconds} s", job.host()));
                }
                None => continue,
                Some(NodeReply::Journal { run, from, bytes }) => {
                    let part = received(&mut conversation, bytes)?;
                    let added = copy.add_records(&run, from, &part);
                    added.map_err(|why| format!("cannot follow {}, which {why}", job.host()))?;
                }
                Some(NodeReply::Log { from, bytes }) => {
                    let part = received(&mut conversation, bytes)?;
                    let added = copy.add_output(from, &part);
                    added.map_err(|why| format!("cannot follow {}, which {why}", job.host()))?;
                }
                Some(NodeReply::State {
                    state: JobState::Running,
                }) => {
                    if tunnel.is_none() {
                        let state = site.state_of(&plan)?;
                        let node = self.job(&job.record.name);
                        *tunnel = Tunnel::open(&state, &self.transport, job.host(), &node);
                    }
                }
                Some(NodeReply::State { state }) => return Ok(Followed::Over(state)),
                Some(other) => return Err(conversation.unexpected(&other).to_string()),
            }
            self.answered();
            heard = Instant::now();
        }
    }

    /// Brings the work of a job that is over here, and returns how it ended.
    fn conclude(&mut self, job: &StartedJob, state: JobState) -> Last {
        let result = match state {
            JobState::Ended { exit, tail } => {
                let ended = EndedJob { exit, tail };
                self.site.end_of_job(&self.plan.name, &self.before, &ended)
            }
            JobState::Gone | JobState::Running => self.site.task_result(&self.plan.name, &self.before, JobEnd::Crashed),
            JobState::Withdrawn => return self.end(EngineEnd::Withdrawn),
            JobState::Absent => return self.end(EngineEnd::Forgotten),
        };
        let finished = matches!(&result, TaskResult::JobEnded { end, .. } if end.is_done());
        loop {
            match self.take(job, finished) {
                Ok(()) => return JobUpdate::Ended(result),
                Err(NodeFailure::Refused { why }) if finished => {
                    let why = format!("{} {why}", self.transport.manifest.id);
                    return JobUpdate::Ended(TaskResult::Failed { why });
                }
                // The next job continues there.
                Err(NodeFailure::Refused { why }) => {
                    self.report_problem(why);
                    return JobUpdate::Ended(result);
                }
                Err(NodeFailure::NotReady { why } | NodeFailure::Lost { why }) => {
                    self.report_problem(format!("{why}; its work is there"));
                    // The job is over, so a request to end it changes nothing.
                    match self.wait_to_retry() {
                        Ok(()) if self.is_stopping => return JobUpdate::Detached,
                        Ok(()) => {}
                        Err(last) => return last,
                    }
                }
            }
        }
    }

    fn take(&self, job: &StartedJob, finished: bool) -> Result<(), NodeFailure> {
        let (record, plan) = (&job.record, &self.plan.name);
        let known = [Some(record.sent.clone()), record.merging.clone()];
        let request = NodeRequest::Take {
            job: self.job(&record.name),
            known: known
                .into_iter()
                .flatten()
                .filter(|commit| !commit.is_empty())
                .collect(),
            message: plan_commit_message(plan),
            finished,
        };
        let mut conversation = self.transport.open(&record.host, &request)?;
        let refused = |why: String| NodeFailure::Refused {
            why: format!("cannot take in the work of {}: {why}", record.host),
        };
        let (tip, bytes) = match conversation.reply(CARRYING)? {
            NodeReply::Bundle { tip, bytes } if bytes <= BUNDLE_CAP_BYTES => (tip, bytes),
            other => return Err(conversation.unexpected(&other)),
        };
        let path = carry::bundle(&self.site, plan);
        let result = if bytes == 0 {
            carry::take_in(&self.site, plan, record, (&tip, None)).map_err(refused)
        } else {
            let file = fs::File::create(&path);
            let file = file.map_err(|error| refused(format!("{}: {error}", path.display())));
            file.and_then(|mut file| conversation.receive(bytes, &mut file))
                .and_then(|()| carry::take_in(&self.site, plan, record, (&tip, Some(&path))).map_err(refused))
        };
        carry::remove_bundle(&self.site, plan);
        result
    }
}

/// The end of following a job.
enum Followed {
    /// The job is not running any more.
    Over(JobState),
    /// The batch leaves it to itself.
    Left,
}

fn received(conversation: &mut NodeConversation, bytes: u64) -> Result<Vec<u8>, String> {
    if bytes > PART_CAP_BYTES {
        return Err(format!("was sent {bytes} bytes at once"));
    }
    let mut part = Vec::new();
    let received = conversation.receive(bytes, &mut part);
    received.map(|()| part).map_err(|failure| failure.to_string())
}
