//! Every key of an engine's file, declared. `docs/guide/engines.md` is the reference for users.

use ralph_policy::{
    settings,
    settings::{Language, Maybe, Open, Section, Text, Texts, Within},
};

/// How files of engines are spoken of.
pub(super) const LANGUAGE: Language = Language {
    whole: "the engine",
    whole_expected: "an object of engine settings",
    section_expected: "a table",
    removed: &[],
};

settings! {
    /// An engine as it is written, its layers merged.
    pub(super) struct Written {
        /// Has to agree with the name of the file.
        id("id"): Maybe<Text>,
        /// What people call it.
        title("title"): Maybe<Text>,
        /// The version that it was tested with.
        verified("verified"): Maybe<Text>,
        /// How long one of its commands may take, in milliseconds.
        timeout_ms("timeout_ms"): Within<100, 600_000> = 30000,
        /// How long it may disagree with a run about whether that goes on, in milliseconds.
        patience_ms("patience_ms"): Within<100, 3_600_000> = 60000,
        job("job"): Section<WrittenJob>,
        submit("submit"): Section<WrittenSubmit>,
        find("find"): Section<WrittenFind>,
        state("state"): Section<WrittenState>,
        cancel("cancel"): Section<WrittenCancel>,
        log("log"): Section<WrittenLog>,
        install("install"): Section<WrittenInstall>,
    }
}

settings! {
    /// What each job asks for.
    pub(super) struct WrittenJob {
        /// Cores: `{cores}`.
        cores("cores"): Within<1, 4096> = 1,
        /// Memory in mebibytes: `{memory_mib}`.
        memory_mib("memory_mib"): Within<1, 16_777_216> = 2048,
        /// Minutes until the engine ends it: `{minutes}`, or `{seconds}` of them. Work that was cut off goes on in another job.
        minutes("minutes"): Within<1, 525_600> = 1440,
        /// Lines of `sh` that run before ralph does, such as "module load git".
        setup("setup"): Texts = [],
        /// Variables for ralph and its agent, beside those that the engine hands on.
        env("env"): Open<Text>,
    }
}

settings! {
    /// How a job is handed over.
    pub(super) struct WrittenSubmit {
        /// The program and its arguments, none of which passes through a shell.
        command("command"): Maybe<Texts>,
        /// What `{args}` in `command` stands for: arguments of your own, such as a partition.
        args("args"): Texts = [],
        /// What it reads from stdin.
        stdin("stdin"): Maybe<Text>,
        /// Where the job's id is in what it prints: a regular expression with the group `job`.
        job("job"): Maybe<Text>,
        /// The same as a JSON pointer.
        job_pointer("job_pointer"): Maybe<Text>,
    }
}

settings! {
    /// How a job is looked for by its name, where nobody heard its id.
    pub(super) struct WrittenFind {
        /// The program and its arguments.
        command("command"): Maybe<Texts>,
        /// As `submit.job`; an answer in which it is not found means that there is no such job.
        job("job"): Maybe<Text>,
        /// The same as a JSON pointer.
        job_pointer("job_pointer"): Maybe<Text>,
    }
}

settings! {
    /// How the engine is asked what a job does.
    pub(super) struct WrittenState {
        /// The program and its arguments.
        command("command"): Maybe<Texts>,
        /// How often, in milliseconds.
        every_ms("every_ms"): Within<50, 600_000> = 5000,
        /// Where the word is in what it prints: a regular expression with the group `state`.
        state("state"): Maybe<Text>,
        /// The same as a JSON pointer.
        state_pointer("state_pointer"): Maybe<Text>,
        /// Found in what it prints, on stdout or stderr, if there is no such job.
        unknown("unknown"): Maybe<Text>,
        means("means"): Section<WrittenMeans>,
    }
}

settings! {
    /// The engine's words, by what they mean.
    pub(super) struct WrittenMeans {
        /// It waits for its turn.
        queued("queued"): Texts = [],
        /// It runs, or is being ended.
        running("running"): Texts = [],
        /// It is over.
        ended("ended"): Texts = [],
        /// The engine ended it for a reason of its own; the work goes on in another job.
        cut_off("cut_off"): Texts = [],
        /// Somebody cancelled it.
        cancelled("cancelled"): Texts = [],
    }
}

settings! {
    /// How a job is ended.
    pub(super) struct WrittenCancel {
        /// The program and its arguments. It may fail for a job that is over.
        command("command"): Maybe<Texts>,
    }
}

settings! {
    /// How the engine shows what a job has printed that never began.
    pub(super) struct WrittenLog {
        /// The program and its arguments.
        command("command"): Maybe<Texts>,
    }
}

settings! {
    /// Where it comes from.
    pub(super) struct WrittenInstall {
        /// What to type to install it.
        hint("hint"): Maybe<Text>,
    }
}
