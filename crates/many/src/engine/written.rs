//! All keys of an engine's file. `docs/guide/engines.md` is the reference for users.

use ralph_policy::{
    settings,
    settings::{AnyText, Maybe, OpenGroup, SettingsSection, Terms, TextList, WholeNumber},
};

/// Terms for engines' files in messages.
pub(super) const LANGUAGE: Terms = Terms {
    whole: "the engine",
    whole_expected: "an object of engine settings",
    section_expected: "a table",
    removed: &[("node", HOSTS)],
};

/// The replacement of engines that were never run.
pub(super) const OWN_FILE: &str = "a file of your own can describe it: copy that of `ralph engines slurm`";

/// The replacement of engines of hosts that share no files.
pub(super) const HOSTS: &str = "engines need a file system that they share with this machine; on a host that shares none, type \
                                `ralph many` there, and fetch the branch that it merges into";

settings! {
    /// The text of an engine's file, its layers merged.
    pub struct WrittenEngine {
        /// Must equal the file name without `.toml`.
        id("id"): Maybe<AnyText>,
        /// Display name.
        title("title"): Maybe<AnyText>,
        /// The version that it was tested with.
        verified("verified"): Maybe<AnyText>,
        /// Deadline of each of its commands, in milliseconds.
        timeout_ms("timeout_ms"): WholeNumber<100, 600_000> = 30000,
        /// How long engine and run may contradict each other about whether the run continues, in
        /// milliseconds.
        patience_ms("patience_ms"): WholeNumber<100, 3_600_000> = 60000,
        job("job"): SettingsSection<WrittenJob>,
        submit("submit"): SettingsSection<WrittenSubmit>,
        find("find"): SettingsSection<WrittenFind>,
        state("state"): SettingsSection<WrittenState>,
        cancel("cancel"): SettingsSection<WrittenCancel>,
        install("install"): SettingsSection<WrittenEngineInstall>,
    }
}

settings! {
    /// Resources of each job.
    pub(crate) struct WrittenJob {
        /// Cores: `{cores}`.
        cores("cores"): WholeNumber<1, 4096> = 1,
        /// Memory in mebibytes: `{memory_mib}`.
        memory_mib("memory_mib"): WholeNumber<1, 16_777_216> = 2048,
        /// Minutes until the engine ends the job: `{minutes}`, or `{seconds}`. Interrupted work continues in
        /// another job.
        minutes("minutes"): WholeNumber<1, 525_600> = 1440,
        /// Lines of `sh` that run before ralph, such as "module load git".
        setup("setup"): TextList = [],
        /// Variables for ralph and its agent, in addition to those that the engine passes on.
        env("env"): OpenGroup<AnyText>,
    }
}

settings! {
    /// Submission of a job.
    pub(crate) struct WrittenSubmit {
        /// The program and its arguments; no shell is involved.
        command("command"): Maybe<TextList>,
        /// Arguments of your own, such as a partition, in the place of `{args}` in `command`.
        args("args"): TextList = [],
        /// Finds the job's id in the output: a regular expression with the group `job`.
        job("job"): Maybe<AnyText>,
    }
}

settings! {
    /// Search for a job by its name, if its id was not recorded.
    pub(crate) struct WrittenFind {
        /// The program and its arguments.
        command("command"): Maybe<TextList>,
        /// As `submit.job`; if it does not match, there is no such job.
        job("job"): Maybe<AnyText>,
    }
}

settings! {
    /// Question for the state of a job.
    pub(crate) struct WrittenState {
        /// The program and its arguments.
        command("command"): Maybe<TextList>,
        /// Interval, in milliseconds.
        every_ms("every_ms"): WholeNumber<50, 600_000> = 5000,
        /// Finds the state in the output: a regular expression with the group `state`.
        state("state"): Maybe<AnyText>,
        /// A regular expression that matches the output, on stdout or stderr, if there is no such job.
        unknown("unknown"): Maybe<AnyText>,
        means("means"): SettingsSection<WrittenMeans>,
    }
}

settings! {
    /// The engine's states, by their meaning.
    pub(crate) struct WrittenMeans {
        /// The job waits in the queue.
        queued("queued"): TextList = [],
        /// The job runs, or is being ended.
        running("running"): TextList = [],
        /// The job is over.
        ended("ended"): TextList = [],
        /// The engine ended the job for a reason of its own; the work continues in another job.
        cut_off("cut_off"): TextList = [],
        /// A person cancelled the job at the engine.
        cancelled("cancelled"): TextList = [],
    }
}

settings! {
    /// Cancellation of a job.
    pub(crate) struct WrittenCancel {
        /// The program and its arguments. It may fail for a job that is over.
        command("command"): Maybe<TextList>,
    }
}

settings! {
    /// Installation of the engine.
    pub struct WrittenEngineInstall {
        /// A command or a page for the installation.
        hint("hint"): Maybe<AnyText>,
    }
}
