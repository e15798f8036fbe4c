//! Posts what agents proposed and what was let through, with the user's own program for the forge and outside of the sandbox.
//!
//! Each attempt looks for its mark first, so that a post whose answer was lost is not made twice.

use std::{
    collections::BTreeSet,
    env,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ralph_core::{
    event::{Event, ForgePost, PostResult, PostRules, RunId, Text},
    machine::Input,
    run::{ProposedPost, RunView},
};
use ralph_forge::{AddressError, Forge, ForgeError, ForgeRepository, Posted, Retry, post_body, post_mark, post_title};
use ralph_git::{Branches, remote_address};
use ralph_system::{diagnostics::inherited, proc::Supervisor};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep},
};

/// The remote whose repository gets the posts.
const ORIGIN: &str = "origin";
/// Shortest and longest pause before the next attempt. It doubles with each.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(5 * 60);
/// How long the end of a run waits for an attempt.
const PATIENCE: Duration = Duration::from_secs(30);
/// Words in the names of variables that hold keys, and the length from which a value counts as one.
const KEY_WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
const KEY_BYTES: usize = 12;

/// Why an attempt failed, and when to try again; `None` if the user has to do something first.
#[derive(Debug)]
pub(super) struct PostTrouble {
    why: String,
    retry: Option<Retry>,
}

/// Posts for the runs of a project.
#[derive(Clone)]
pub struct ForgePoster {
    supervisor: Supervisor,
    project: PathBuf,
    /// A directory that no agent writes to.
    state: PathBuf,
}

impl ForgePoster {
    /// `supervisor` starts programs with the user's rights.
    pub fn new(supervisor: Supervisor, project: &Path, state: &Path) -> ForgePoster {
        ForgePoster {
            supervisor,
            project: project.to_owned(),
            state: state.to_owned(),
        }
    }

    /// Posts once, unless it is on the forge already.
    pub(super) fn post(&self, run: &RunId, proposed: &ProposedPost, rules: &PostRules) -> Result<Posted, PostTrouble> {
        let repository = match &rules.repository {
            Some(address) => ForgeRepository::parse(address).map_err(|error| unreached(&error))?,
            None => repository(&self.project, &self.supervisor)?,
        };
        let forge = Forge::new(
            repository,
            self.state.clone(),
            self.project.clone(),
            self.supervisor.clone(),
        );
        let mark = post_mark(&run.0, proposed.ask);
        let known = (mark.as_str(), proposed.at_ms);
        let body = post_body(proposed.post.body(), &mark);
        let made = match &*proposed.post {
            ForgePost::Issue { title, labels, .. } => {
                let labels: Vec<&str> = labels.iter().map(Text::as_str).collect();
                let title = post_title(&rules.title_prefix, title);
                forge.post_issue((&title, &body), &labels, known)
            }
            ForgePost::Comment { number, .. } => forge.post_comment(*number, &body, known),
        };
        made.map_err(PostTrouble::from)
    }
}

/// Returns the repository of the remote.
fn repository(project: &Path, supervisor: &Supervisor) -> Result<ForgeRepository, PostTrouble> {
    let address = Branches::find(project, supervisor)
        .ok()
        .and_then(|branches| remote_address(&branches, ORIGIN).ok()?);
    let Some(address) = address else {
        return Err(final_trouble(format!(
            "the project has no remote `{ORIGIN}`: `git remote add {ORIGIN} https://github.com/OWNER/NAME`"
        )));
    };
    let repository = ForgeRepository::parse(&address).map_err(|error| unreached(&error))?;
    repository.program().map_err(|error| unreached(&error))?;
    Ok(repository)
}

/// Finds the address of the repository for the posts of a project; `None` if there is none that ralph reaches.
pub fn repository_of_posts(project: &Path, supervisor: &Supervisor) -> Option<String> {
    let found = repository(project, supervisor).ok()?;
    Some(format!("https://{}/{}/{}", found.host, found.owner, found.name))
}

fn unreached(error: &AddressError) -> PostTrouble {
    final_trouble(error.to_string())
}

fn final_trouble(why: String) -> PostTrouble {
    PostTrouble { why, retry: None }
}

impl From<ForgeError> for PostTrouble {
    fn from(error: ForgeError) -> PostTrouble {
        let hint = error.hint().map_or_else(String::new, |hint| format!(": `{hint}`"));
        PostTrouble {
            why: format!("{error}{hint}"),
            retry: error.retry(),
        }
    }
}

impl PostTrouble {
    /// The result of an attempt that is not repeated.
    pub(super) fn failed(&self) -> PostResult {
        let why = self.why.as_str().into();
        PostResult::Failed { why }
    }

    /// The result of an attempt that is repeated after some time, if repeating it can help.
    fn result(&self, pause: Duration) -> (PostResult, Option<Duration>) {
        let wait = match self.retry {
            None => return (self.failed(), None),
            Some(Retry::Later) => pause,
            Some(Retry::AfterMs(after_ms)) => Duration::from_millis(after_ms).max(SHORTEST),
        };
        let why = self.why.as_str().into();
        (PostResult::Waits { why }, Some(wait))
    }
}

pub(super) fn made(posted: Posted) -> PostResult {
    PostResult::Made {
        number: posted.number,
        url: posted.url.into(),
    }
}

/// The values of variables that hold keys, of which no text may have one.
pub(super) fn known_keys() -> Vec<String> {
    let is_key = |name: &str| KEY_WORDS.iter().any(|word| name.to_ascii_uppercase().contains(word));
    let variables =
        env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    variables
        .filter(|(name, value)| is_key(name) && value.len() >= KEY_BYTES)
        .map(|(_, value)| value)
        .collect()
}

/// A post that is let through, with what it takes to post it.
struct DuePost {
    run: RunId,
    proposed: ProposedPost,
    rules: PostRules,
}

/// State that the loop and the worker share.
#[derive(Default)]
struct SharedWithWorker {
    /// Whether the worker waits for the forge.
    sleeps: AtomicBool,
    /// Proposals that the user refused after they had been let through.
    refused: Mutex<BTreeSet<u32>>,
}

impl SharedWithWorker {
    fn refused(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the posts of a run one after the other, each until the forge takes it or refuses it.
pub(super) struct PostQueue {
    poster: ForgePoster,
    queue: Option<mpsc::UnboundedSender<DuePost>>,
    worker: Option<JoinHandle<()>>,
    /// Number of posts without a final result.
    left: usize,
    shared: Arc<SharedWithWorker>,
    /// Since when the end of the run waits.
    ending_since: Option<Instant>,
}

impl PostQueue {
    pub(super) fn new(poster: ForgePoster) -> Self {
        Self {
            poster,
            queue: None,
            worker: None,
            left: 0,
            shared: Arc::default(),
            ending_since: None,
        }
    }

    /// Posts what has this number in the view.
    pub(super) fn push(&mut self, view: &RunView, run: &RunId, ask: u32, results: &mpsc::Sender<Input>) {
        let Some(proposed) = view.posts.numbered(ask) else {
            return;
        };
        let due = DuePost {
            run: run.clone(),
            proposed: proposed.clone(),
            rules: view.settings.posts.clone(),
        };
        let queue = match self.queue.take() {
            Some(queue) => queue,
            None => {
                let (queue, queued) = mpsc::unbounded_channel();
                let worker = work(self.poster.clone(), queued, results.clone(), Arc::clone(&self.shared));
                self.worker = Some(tokio::spawn(worker));
                queue
            }
        };
        self.left += 1;
        self.shared.refused().remove(&ask);
        _ = queue.send(due); // the worker ends with the run
        self.queue = Some(queue);
        self.ending_since = None;
    }

    /// Follows the results that the loop has taken, and what became of them.
    pub(super) fn follow(&mut self, input: &Input, events: &[Event]) {
        for event in events {
            if let Event::PostDecided {
                ask, allowed: false, ..
            } = event
            {
                self.shared.refused().insert(*ask);
            }
        }
        match input {
            Input::PostEnded {
                result: PostResult::Waits { .. },
                ..
            } => self.shared.sleeps.store(true, Ordering::Relaxed),
            Input::PostEnded { .. } => self.left = self.left.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether the end of the run waits for an attempt.
    pub(super) fn holds_end(&mut self) -> bool {
        let works = self.left > 0 && !self.shared.sleeps.load(Ordering::Relaxed);
        works && self.ending_since.get_or_insert_with(Instant::now).elapsed() < PATIENCE
    }
}

impl Drop for PostQueue {
    fn drop(&mut self) {
        if let Some(worker) = &self.worker {
            worker.abort();
        }
    }
}

async fn work(
    poster: ForgePoster,
    mut queued: mpsc::UnboundedReceiver<DuePost>,
    results: mpsc::Sender<Input>,
    shared: Arc<SharedWithWorker>,
) {
    while let Some(due) = queued.recv().await {
        let (ask, due) = (due.proposed.ask, Arc::new(due));
        let mut pause = SHORTEST;
        loop {
            let is_refused = shared.refused().contains(&ask);
            if is_refused {
                let result = final_trouble(String::new()).failed();
                _ = results.send(Input::PostEnded { ask, result }).await; // the run is over
                break;
            }
            let (poster, attempt) = (poster.clone(), Arc::clone(&due));
            let attempt = inherited(move || poster.post(&attempt.run, &attempt.proposed, &attempt.rules));
            let posted = spawn_blocking(attempt).await;
            let (result, wait) = match posted {
                Ok(Ok(posted)) => (made(posted), None),
                Ok(Err(trouble)) => trouble.result(pause),
                Err(error) => (final_trouble(error.to_string()).failed(), None),
            };
            let sent = results.send(Input::PostEnded { ask, result }).await;
            let (Ok(()), Some(wait)) = (sent, wait) else { break };
            sleep(wait).await;
            shared.sleeps.store(false, Ordering::Relaxed);
            pause = (pause * 2).min(LONGEST);
        }
    }
}
