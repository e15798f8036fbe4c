//! `ralph __node`: carries out one request of a batch on another machine.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use nix::sys::signal::Signal;
use ralph_core::event::RunId;
use ralph_git::{
    Branches, Committer, is_commit_name, known_commits, make_repository, place_branch, put_branch, read_bundle,
    set_committer, write_bundle,
};
use ralph_state::store::{paths::ProjectPaths, trust::trust};
use ralph_system::{
    files,
    proc::{LoopStart, Supervisor, signal_loop},
};
use ralph_text::with_causes;

use super::{
    place::{JobDirectory, KeeperOrder, NodePlace, is_below},
    wire::{
        BUNDLE_CAP_BYTES, BundleHeader, GREETING, JobState, LINE_CAP_BYTES, NodeReply, NodeRequest, OpenMergeRequest,
        StartRequest, VERSION,
    },
};

/// The command of the process that runs a job.
const KEEPER: &str = "__node-job";
/// Interval between looks at the files of a job.
const LOOK: Duration = Duration::from_millis(100);
/// Longest silence of a node: the batch tells a lost connection by it.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Most bytes of a journal or a log in one reply, unless a record is longer.
const PART_BYTES: u64 = 1 << 20;
/// Most bytes of a record.
const RECORD_CAP_BYTES: u64 = 32 << 20;
/// How long a job has to end, with what it started, before its files are removed.
const ENDING: Duration = Duration::from_secs(60);

/// The reason why a request is not carried out, in words.
type RefusalReason = String;

/// Carries out the request on stdin, with the state directory `root`.
///
/// # Errors
/// If the batch is gone, or if its request cannot be read.
pub(crate) fn serve(root: &Path, supervisor: &Supervisor) -> io::Result<()> {
    let mut output = io::stdout();
    writeln!(output, "{GREETING}{VERSION}")?;
    output.flush()?;
    let mut input = BufReader::new(io::stdin());
    let request: NodeRequest = read_line(&mut input)?;
    let mut node = NodeServer {
        root,
        supervisor,
        input,
        output,
    };
    match node.carry_out(request) {
        Ok(()) => Ok(()),
        Err(ServingFailure::Gone(error)) => Err(error),
        Err(ServingFailure::Refused(why)) => node.reply(&NodeReply::Refused { why }),
    }
}

/// Why a request has ended early.
enum ServingFailure {
    /// The batch is gone.
    Gone(io::Error),
    Refused(RefusalReason),
}

impl From<io::Error> for ServingFailure {
    fn from(error: io::Error) -> Self {
        ServingFailure::Gone(error)
    }
}

impl From<RefusalReason> for ServingFailure {
    fn from(why: RefusalReason) -> Self {
        ServingFailure::Refused(why)
    }
}

fn refusal(error: impl std::error::Error) -> RefusalReason {
    with_causes(&error)
}

fn read_line<T: serde::de::DeserializeOwned>(input: &mut impl BufRead) -> io::Result<T> {
    let mut line = Vec::new();
    input.take(LINE_CAP_BYTES as u64).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(serde_json::from_slice(&line)?),
        Some(_) | None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A node during one request.
struct NodeServer<'a> {
    root: &'a Path,
    supervisor: &'a Supervisor,
    input: BufReader<io::Stdin>,
    output: io::Stdout,
}

impl NodeServer<'_> {
    fn carry_out(&mut self, request: NodeRequest) -> Result<(), ServingFailure> {
        match request {
            NodeRequest::Start(request) => self.start(*request),
            NodeRequest::Follow {
                job,
                journals,
                log_bytes,
            } => self.follow(&NodePlace::new(self.root, job)?, journals, log_bytes),
            NodeRequest::Stop { job } => self.stop(&NodePlace::new(self.root, job)?),
            NodeRequest::Take {
                job,
                known,
                message,
                finished,
            } => self.take(&NodePlace::new(self.root, job)?, &known, (&message, finished)),
            NodeRequest::Connect { job } => Ok(self.connect(&NodePlace::new(self.root, job)?.state()?)?),
            NodeRequest::Remove { job, args } => self.remove(&NodePlace::new(self.root, job)?, args),
        }
    }

    fn reply(&mut self, reply: &NodeReply) -> io::Result<()> {
        let mut line = serde_json::to_vec(reply)?;
        line.push(b'\n');
        self.output.write_all(&line)?;
        self.output.flush()
    }

    /// Starts a job, or says in which state one is that was started before.
    fn start(&mut self, request: StartRequest) -> Result<(), ServingFailure> {
        let place = NodePlace::new(self.root, request.job.clone())?;
        let files = JobDirectory::new(place.directory()?);
        if files.state() == JobState::Absent {
            let file = self.receive_commits(&place, request.committer.clone())?;
            let _lock = place.lock()?;
            let repository = make_repository(&place.repository(), self.supervisor).map_err(refusal)?;
            let read = read_commits(&place, &repository, file.as_deref(), &request.tip);
            _ = file.map(fs::remove_file); // the next job of this name replaces it
            read?;
            // An earlier connection of this batch may have started it meanwhile.
            if files.state() == JobState::Absent {
                prepare_tree(&place, &repository, &request)?;
            }
        }
        if files.claim()? {
            self.start_keeper(&place, &files, &request)?;
        }
        let state = place.job_state()?;
        Ok(self.reply(&NodeReply::State { state })?)
    }

    /// Receives the commits that this machine lacks. The lock is not held meanwhile: a connection may be slow, or dead.
    fn receive_commits(
        &mut self,
        place: &NodePlace,
        committer: Option<(String, String)>,
    ) -> Result<Option<PathBuf>, ServingFailure> {
        let lock = place.lock()?;
        let repository = make_repository(&place.repository(), self.supervisor).map_err(refusal)?;
        if let Some((name, email)) = committer {
            set_committer(&repository, &Committer { name, email }).map_err(refusal)?;
        }
        let known = known_commits(&repository).map_err(refusal)?;
        drop(lock);
        self.reply(&NodeReply::Ready { known })?;
        let BundleHeader { bytes } = read_line(&mut self.input)?;
        if bytes == 0 {
            return Ok(None);
        }
        let file = place.bundle();
        match self.receive(&file, bytes) {
            Ok(()) => Ok(Some(file)),
            Err(failure) => {
                _ = fs::remove_file(&file); // the disk may be full of it
                Err(failure)
            }
        }
    }

    fn receive(&mut self, path: &Path, bytes: u64) -> Result<(), ServingFailure> {
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        if bytes > BUNDLE_CAP_BYTES {
            return Err(format!("{bytes} bytes of commits are more than {BUNDLE_CAP_BYTES}").into());
        }
        let mut file = fs::File::create(path).map_err(failed)?;
        let mut bundle = (&mut self.input).take(bytes);
        let mut buffer = vec![0; 64 << 10];
        let mut received = 0;
        // Not `io::copy`: a full disk here is told from a connection that is gone.
        loop {
            let length = bundle.read(&mut buffer)?;
            if length == 0 {
                break;
            }
            file.write_all(&buffer[..length]).map_err(failed)?;
            received += length as u64;
        }
        match received == bytes {
            true => Ok(()),
            false => Err(format!("the commits were cut off after {received} of {bytes} bytes").into()),
        }
    }

    fn start_keeper(
        &self,
        place: &NodePlace,
        files: &JobDirectory,
        request: &StartRequest,
    ) -> Result<(), RefusalReason> {
        let state = place.state()?;
        let is_continued = state.latest_run().is_some();
        let own = [
            format!("--state-dir={}", place.root().display()),
            // The work tree is its own project: nothing is copied from another place of this machine.
            format!("--__tree-of={}", place.project().display()),
        ];
        let given = request.args.iter().filter(|arg| is_continued || *arg != "--__continue");
        let order = KeeperOrder {
            // Not that of the batch, which may be on this machine.
            id: format!("node-{}", request.job.name),
            cwd: place.project(),
            args: given.cloned().chain(own).collect(),
            env: request.env.clone(),
        };
        let failed = |error: io::Error| format!("the job cannot be started: {error}");
        files.write_order(&order).map_err(failed)?;
        let keeper = [KEEPER.into(), place.directory()?.into_os_string()];
        let mut keeper = self.supervisor.start_detached(keeper).map_err(failed)?;
        match keeper.begin().map_err(failed)? {
            LoopStart::Ready { .. } => Ok(()),
            LoopStart::Ended(status) => Err(format!("the job cannot be started: its keeper ended with {status}")),
        }
    }

    fn follow(
        &mut self,
        place: &NodePlace,
        mut journals: BTreeMap<String, u64>,
        mut log_bytes: u64,
    ) -> Result<(), ServingFailure> {
        let (state, files) = (place.state()?, JobDirectory::new(place.directory()?));
        let mut told: Option<Instant> = None;
        loop {
            // Before the files are read: a job that is over writes no more.
            let now = files.state();
            let mut is_news = self.send_journals(&state, &mut journals)?;
            is_news |= self.send_log(&files, &mut log_bytes)?;
            if is_news {
                continue;
            }
            let is_over = now != JobState::Running;
            if is_over || told.is_none_or(|at| at.elapsed() >= HEARTBEAT) {
                told = Some(Instant::now());
                self.reply(&NodeReply::State { state: now })?;
            }
            if is_over {
                return Ok(());
            }
            thread::sleep(LOOK);
        }
    }

    /// Sends complete records that the batch lacks. Returns whether there were any.
    fn send_journals(&mut self, state: &ProjectPaths, known: &mut BTreeMap<String, u64>) -> io::Result<bool> {
        let mut is_news = false;
        for run in state.run_ids() {
            let from = known.get(&run.0).copied().unwrap_or(0);
            let path = state.run(&run).journal();
            if fs::metadata(&path).map_or(0, |journal| journal.len()) <= from {
                continue;
            }
            let mut part = read_part(&path, from, PART_BYTES)?;
            if !part.contains(&b'\n') {
                part = read_part(&path, from, RECORD_CAP_BYTES)?;
            }
            let Some(end) = part.iter().rposition(|byte| *byte == b'\n') else {
                continue;
            };
            part.truncate(end + 1);
            let RunId(run) = run;
            let bytes = part.len() as u64;
            self.reply(&NodeReply::Journal {
                run: run.clone(),
                from,
                bytes,
            })?;
            self.output.write_all(&part)?;
            known.insert(run, from + bytes);
            is_news = true;
        }
        Ok(is_news)
    }

    fn send_log(&mut self, files: &JobDirectory, known: &mut u64) -> io::Result<bool> {
        let path = files.log();
        if fs::metadata(&path).map_or(0, |log| log.len()) <= *known {
            return Ok(false);
        }
        let part = read_part(&path, *known, PART_BYTES)?;
        let (from, bytes) = (*known, part.len() as u64);
        self.reply(&NodeReply::Log { from, bytes })?;
        self.output.write_all(&part)?;
        *known += bytes;
        Ok(bytes > 0)
    }

    fn stop(&mut self, place: &NodePlace) -> Result<(), ServingFailure> {
        let files = JobDirectory::new(place.directory()?);
        match files.keeper() {
            Some(keeper) => signal_loop(keeper, Signal::SIGTERM),
            None if files.claim()? => files
                .withdraw()
                .map_err(|error| format!("the job cannot be withdrawn: {error}"))?,
            None => {}
        }
        Ok(self.reply(&NodeReply::Done)?)
    }

    fn take(&mut self, place: &NodePlace, known: &[String], end: (&str, bool)) -> Result<(), ServingFailure> {
        let lock = place.lock()?;
        if place.job_state()? == JobState::Running {
            return Err("the job is still running".to_owned().into());
        }
        let repository = make_repository(&place.repository(), self.supervisor).map_err(refusal)?;
        let (message, finished) = end;
        let tip = conclude(place, &repository, message, finished)?;
        let file = place.bundle();
        let written = write_bundle(&repository, &file, &[&place.branch()], known).map_err(refusal)?;
        drop(lock);
        if !written {
            return Ok(self.reply(&NodeReply::Bundle { tip, bytes: 0 })?);
        }
        let failed = |error: io::Error| format!("{}: {error}", file.display());
        let mut bundle = files::open_regular(&file).map_err(failed)?;
        _ = fs::remove_file(&file); // it is open; the next bundle replaces one that stays
        let bytes = bundle.metadata().map_err(failed)?.len();
        self.reply(&NodeReply::Bundle { tip, bytes })?;
        io::copy(&mut bundle, &mut self.output)?;
        Ok(self.output.flush()?)
    }

    /// Connects stdin and stdout with the socket of a run. Returns once the run has closed the connection; a batch that
    /// is gone ends this process.
    fn connect(&mut self, state: &ProjectPaths) -> io::Result<()> {
        let mut socket = UnixStream::connect(state.socket())?;
        self.reply(&NodeReply::Done)?;
        let mut to_run = socket.try_clone()?;
        // The bytes behind the request are the first of the client.
        let buffered = self.input.buffer().to_vec();
        to_run.write_all(&buffered)?;
        thread::spawn(move || {
            _ = io::copy(&mut io::stdin(), &mut to_run); // the run or the client is gone
            _ = to_run.shutdown(Shutdown::Write);
        });
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = socket.read(&mut buffer)?;
            if length == 0 {
                return Ok(());
            }
            self.output.write_all(&buffer[..length])?;
            self.output.flush()?;
        }
    }

    fn remove(&mut self, place: &NodePlace, args: Vec<String>) -> Result<(), ServingFailure> {
        let (state, files) = (place.state()?, JobDirectory::new(place.directory()?));
        // Its end is recorded before its keeper has ended.
        let until = Instant::now() + ENDING;
        while files.is_kept() && Instant::now() < until {
            thread::sleep(LOOK);
        }
        if files.is_kept() {
            return Err("the job is still running".to_owned().into());
        }
        if state.tree_record().exists() {
            self.tear_down(place, args)?;
        }
        let _lock = place.lock()?;
        let repository = make_repository(&place.repository(), self.supervisor).map_err(refusal)?;
        repository.remove_tree(&place.tree()).map_err(refusal)?;
        let branch = place.branch();
        if let Some(tip) = repository.tip(&branch).map_err(refusal)? {
            // The repository keeps its commits, so that the next plan needs only what is new.
            let name = format!("{}-{}", place.job().batch, place.job().plan);
            repository.hold(&name, &tip).map_err(refusal)?;
            repository.delete(&branch, &tip).map_err(refusal)?;
        }
        _ = fs::remove_dir_all(state.state()); // its journals are at the batch
        Ok(self.reply(&NodeReply::Done)?)
    }

    /// Runs the commands that end the life of a prepared work tree.
    fn tear_down(&self, place: &NodePlace, args: Vec<String>) -> Result<(), RefusalReason> {
        let own = [
            format!("--state-dir={}", place.root().display()),
            format!("--__tree-of={}", place.project().display()),
            "__tear-down".to_owned(),
        ];
        let helper = self.supervisor.helper(ralph_system::proc::own_executable());
        let helper = helper.args(args).args(own).current_dir(&place.project());
        let ended = helper.deadline(Duration::from_secs(3600)).run().map_err(refusal)?;
        match ended.status.success() {
            true => Ok(()),
            false => Err(super::super::worker::reported_error(&String::from_utf8_lossy(
                &ended.stderr.bytes,
            ))),
        }
    }
}

/// Reads the commits that came with a job, and checks that its tip is there.
fn read_commits(place: &NodePlace, repository: &Branches, file: Option<&Path>, tip: &str) -> Result<(), RefusalReason> {
    if let Some(file) = file {
        let name = format!("{}/{}", place.job().batch, place.job().plan);
        read_bundle(repository, file, &place.branch(), &name).map_err(refusal)?;
    }
    match is_commit_name(tip) && repository.commit_of(tip).map_err(refusal)?.is_some() {
        true => Ok(()),
        false => Err(format!("the commits that came do not contain {tip}")),
    }
}

/// Brings the work tree of a plan to the commit that came with the job.
fn prepare_tree(place: &NodePlace, repository: &Branches, request: &StartRequest) -> Result<(), RefusalReason> {
    let (tree, branch, tip) = (place.tree(), place.branch(), &request.tip);
    if !repository.has_tree(&tree).map_err(refusal)? {
        fs::create_dir_all(tree.parent().unwrap_or(&tree)).map_err(refusal)?;
        place_branch(repository, &branch, tip).map_err(refusal)?;
        repository.add_branch(&tree, &branch, tip).map_err(refusal)?;
    } else if repository.tip(&branch).map_err(refusal)?.as_ref() != Some(tip) {
        let is_older = repository.has_work_of(tip, &tree).map_err(refusal)?;
        if !is_older || !repository.is_clean(&tree, true).map_err(refusal)? {
            let tree = tree.display();
            return Err(format!("{tree} has work of an earlier job that the batch lacks"));
        }
        put_branch(repository, &tree, &branch, tip).map_err(refusal)?;
    }
    if let Some(merge) = &request.merge {
        begin_merge(place, repository, merge)?;
    }
    let state = place.state()?;
    state.create().map_err(refusal)?;
    match request.trusted.is_empty() {
        true => Ok(()),
        false => trust(&state, request.trusted.clone()).map_err(refusal),
    }
}

fn begin_merge(place: &NodePlace, repository: &Branches, merge: &OpenMergeRequest) -> Result<(), RefusalReason> {
    let tree = place.tree();
    let file = Path::new(&merge.file);
    if !is_commit_name(&merge.commit) || !is_below(file) {
        return Err(format!("a merge of {:?} cannot be begun", merge.commit));
    }
    // An earlier job has begun it, and its agent may have gone on.
    if repository.is_merging(&tree).map_err(refusal)? {
        return Ok(());
    }
    repository
        .begin_merge(&tree, &merge.commit, &merge.message)
        .map_err(refusal)?;
    let path = place.project().join(file);
    fs::write(&path, &merge.text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Commits what the agent has left, and returns the tip of the plan's branch.
fn conclude(place: &NodePlace, repository: &Branches, message: &str, finished: bool) -> Result<String, RefusalReason> {
    let (tree, branch) = (place.tree(), place.branch());
    if !repository.has_tree(&tree).map_err(refusal)? {
        return Err(format!("{} is gone", tree.display()));
    }
    if finished || !repository.is_merging(&tree).map_err(refusal)? {
        repository.commit_all(&tree, message).map_err(refusal)?;
    }
    if !repository.advance_to_head(&tree, &branch).map_err(refusal)? {
        let tree = tree.display();
        return Err(format!(
            "{tree} has another branch checked out, without all commits of `{branch}`"
        ));
    }
    let tip = repository.tip(&branch).map_err(refusal)?;
    tip.ok_or_else(|| format!("the branch `{branch}` no longer exists"))
}

fn read_part(path: &Path, from: u64, bytes: u64) -> io::Result<Vec<u8>> {
    let mut file = files::open_regular(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut part = Vec::new();
    file.take(bytes).read_to_end(&mut part)?;
    Ok(part)
}
