//! The terms of the code, one for each thing.
//!
//! | term | meaning |
//! |---|---|
//! | adapter | what ralph knows about running one agent: a manifest in TOML, and a dialect or a client of its server ([`agent`](ralph_agent)) |
//! | agent | the coding agent: a program or a server that is not part of ralph |
//! | author | the agent that works on the plan, where another one reviews it |
//! | batch | plans that run side by side, and the target that collects them ([`batch`](ralph_plan::batch)) |
//! | breaker | what users know as the stuck detector: opens when iterations bring no progress or fail in the same way |
//! | checkpoint | the work tree as a commit under `refs/ralph/` ([`git`](ralph_git)) |
//! | claim | an agent's statement that all work is done; never believed without a look (`claims`) |
//! | confidence | 0 to 100: how much speaks for a claim |
//! | dialect | the pure parser from what one agent prints to signals ([`agent::dialect`](ralph_agent::dialect)) |
//! | driver | the task that runs the loop around the machine ([`driver`](crate::driver)) |
//! | effect | what the machine wants done; imperative, performed by the driver |
//! | event | what happened; past tense, one line in the journal ([`event`](ralph_core::event)) |
//! | goal | a command that ralph runs itself to verify the work |
//! | guard | the process above each agent that ends everything the agent started ([`proc`](ralph_system::proc)) |
//! | helper | a short program that ralph runs for itself, such as git ([`proc::helper`](ralph_system::proc::helper)) |
//! | hub | hands records and output to any number of subscribers ([`driver`](crate::driver)) |
//! | input | anything that reaches the machine: a command, a timer, a result, a signal |
//! | iteration | one prompt, one session, one look at the result |
//! | journal | the file of records that state is the fold of ([`store::journal`](ralph_state::store::journal)) |
//! | ladder | the steps of stopping a process tree: interrupt, terminate, kill |
//! | machine | the pure rules: `step(state, now, input)` ([`machine`](ralph_core::machine)) |
//! | orphan | a process whose guard is gone, or that a helper left behind |
//! | phase | where the loop is: preparing, running, settling, waiting … |
//! | plan | the user's list of tasks, Markdown or `prd.json` (`plan`) |
//! | promise | the token by which an agent claims the end, new in every run |
//! | record | an event with its position and time |
//! | recording | what an agent's terminal showed, as asciinema keeps it (`store::recording`) |
//! | review | an iteration in which an agent that is not the author, the reviewer, looks at what was changed; advice, and never evidence |
//! | run | everything between a start and an end with a reason; may outlive the process |
//! | session | one conversation with an agent; an iteration begins or resumes one |
//! | settling | the look at an iteration's result: checkpoint, changes, plan, claims |
//! | signal | what an agent reported, as its dialect understood it |
//! | signal log | all signals of an iteration, beyond what the journal keeps (`store::signal_log`) |
//! | steering | a message of the user to the agent |
//! | subscription | one reader's position in a run ([`driver`](crate::driver)) |
//! | turn | one prompt and all that the agent does about it |
//! | verdict | whether a turn succeeded, by the agent's own report |
//! | view | the public fold of a run's records, which all that is shown is read from ([`run`](ralph_core::run)) |
