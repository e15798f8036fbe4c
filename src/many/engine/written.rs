//! All keys of an engine's file. `docs/guide/engines.md` is the reference for users.

use ralph_policy::{
    settings,
    settings::{Language, Maybe, Open, Section, Text, Texts, Within},
};

/// Terms for engines' files in messages.
pub(super) const LANGUAGE: Language = Language {
    whole: "the engine",
    whole_expected: "an object of engine settings",
    section_expected: "a table",
    removed: &[],
};

settings! {
    /// The text of an engine's file, its layers merged.
    pub(super) struct WrittenEngine {
        /// Must equal the file name without `.toml`.
        id("id"): Maybe<Text>,
        /// Display name.
        title("title"): Maybe<Text>,
        /// The version that it was tested with.
        verified("verified"): Maybe<Text>,
        /// Deadline of each of its commands, in milliseconds.
        timeout_ms("timeout_ms"): Within<100, 600_000> = 30000,
        /// How long engine and run may contradict each other about whether the run continues, in
        /// milliseconds.
        patience_ms("patience_ms"): Within<100, 3_600_000> = 60000,
        job("job"): Section<WrittenJob>,
        submit("submit"): Section<WrittenSubmit>,
        find("find"): Section<WrittenFind>,
        state("state"): Section<WrittenState>,
        cancel("cancel"): Section<WrittenCancel>,
        log("log"): Section<WrittenLog>,
        install("install"): Section<WrittenEngineInstall>,
    }
}

settings! {
    /// Resources of each job.
    pub(super) struct WrittenJob {
        /// Cores: `{cores}`.
        cores("cores"): Within<1, 4096> = 1,
        /// Memory in mebibytes: `{memory_mib}`.
        memory_mib("memory_mib"): Within<1, 16_777_216> = 2048,
        /// Minutes until the engine ends the job: `{minutes}`, or `{seconds}`. Interrupted work continues in
        /// another job.
        minutes("minutes"): Within<1, 525_600> = 1440,
        /// Lines of `sh` that run before ralph, such as "module load git".
        setup("setup"): Texts = [],
        /// Variables for ralph and its agent, in addition to those that the engine passes on.
        env("env"): Open<Text>,
    }
}

settings! {
    /// Submission of a job.
    pub(super) struct WrittenSubmit {
        /// The program and its arguments; no shell is involved.
        command("command"): Maybe<Texts>,
        /// Arguments of your own, such as a partition, in the place of `{args}` in `command`.
        args("args"): Texts = [],
        /// Text for the command's standard input.
        stdin("stdin"): Maybe<Text>,
        /// Finds the job's id in the output: a regular expression with the group `job`.
        job("job"): Maybe<Text>,
        /// Finds the job's id with a JSON pointer instead.
        job_pointer("job_pointer"): Maybe<Text>,
    }
}

settings! {
    /// Search for a job by its name, if its id was not recorded.
    pub(super) struct WrittenFind {
        /// The program and its arguments.
        command("command"): Maybe<Texts>,
        /// As `submit.job`; if it does not match, there is no such job.
        job("job"): Maybe<Text>,
        /// Finds the job's id with a JSON pointer instead.
        job_pointer("job_pointer"): Maybe<Text>,
    }
}

settings! {
    /// Question for the state of a job.
    pub(super) struct WrittenState {
        /// The program and its arguments.
        command("command"): Maybe<Texts>,
        /// Interval, in milliseconds.
        every_ms("every_ms"): Within<50, 600_000> = 5000,
        /// Finds the state in the output: a regular expression with the group `state`.
        state("state"): Maybe<Text>,
        /// Finds the state with a JSON pointer instead.
        state_pointer("state_pointer"): Maybe<Text>,
        /// A regular expression that matches the output, on stdout or stderr, if there is no such job.
        unknown("unknown"): Maybe<Text>,
        means("means"): Section<WrittenMeans>,
    }
}

settings! {
    /// The engine's states, by their meaning.
    pub(super) struct WrittenMeans {
        /// The job waits in the queue.
        queued("queued"): Texts = [],
        /// The job runs, or is being ended.
        running("running"): Texts = [],
        /// The job is over.
        ended("ended"): Texts = [],
        /// The engine ended the job for a reason of its own; the work continues in another job.
        cut_off("cut_off"): Texts = [],
        /// A person cancelled the job at the engine.
        cancelled("cancelled"): Texts = [],
    }
}

settings! {
    /// Cancellation of a job.
    pub(super) struct WrittenCancel {
        /// The program and its arguments. It may fail for a job that is over.
        command("command"): Maybe<Texts>,
    }
}

settings! {
    /// The engine's own output of a job whose script never began.
    pub(super) struct WrittenLog {
        /// The program and its arguments.
        command("command"): Maybe<Texts>,
    }
}

settings! {
    /// Installation of the engine.
    pub(super) struct WrittenEngineInstall {
        /// A command or a page for the installation.
        hint("hint"): Maybe<Text>,
    }
}
