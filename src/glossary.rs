//! The terms of the code, one for each thing.
//!
//! | term | meaning |
//! |---|---|
//! | adapter | the description of one agent and how to run it: a manifest in TOML, and a dialect or a client of its server ([`agent`](ralph_agent)) |
//! | agent | the coding agent: a program or a server that is not part of ralph |
//! | author | the agent that works on the plan, as opposed to the reviewer |
//! | batch | plans that run side by side, and the target that collects them ([`batch`](ralph_plan::batch)) |
//! | breaker | the stuck detector, as users know it: opens when iterations make no progress or fail in the same way |
//! | checkpoint | the work tree as a commit in the store ([`git`](ralph_git)) |
//! | claim | an agent's statement that all work is done; never accepted without a check (`claims`) |
//! | confidence | 0 to 100: the strength of the evidence for a claim |
//! | dialect | the pure parser that turns one agent's output into signals ([`agent::dialect`](ralph_agent::dialect)) |
//! | driver | the task that runs the loop around the machine ([`driver`](ralph_driver)) |
//! | effect | an action that the machine requests; imperative, performed by the driver |
//! | event | a fact about the run; past tense, one line in the journal ([`event`](ralph_core::event)) |
//! | goal | a command that ralph runs itself to verify the work |
//! | guard | the process above each agent that ends everything the agent started ([`proc`](ralph_system::proc)) |
//! | helper | a short program that ralph runs for itself, such as git ([`proc::helper`](ralph_system::proc::helper)) |
//! | hub | hands records and output to any number of subscribers ([`driver`](ralph_driver)) |
//! | input | anything that reaches the machine: a command, a timer, a result, a signal |
//! | iteration | one prompt, one session, one check of the result |
//! | journal | the file of records, whose fold is the state ([`store::journal`](ralph_state::store::journal)) |
//! | ladder | the steps of stopping a process tree: interrupt, terminate, kill |
//! | machine | the pure rules: `step(state, now, input)` ([`machine`](ralph_core::machine)) |
//! | orphan | a process whose guard is gone, or that a helper left behind |
//! | phase | the state of the loop: preparing, running, settling, waiting … |
//! | plan | the user's list of tasks, Markdown or `prd.json` (`plan`) |
//! | promise | the token with which an agent claims that all work is done; new in every run |
//! | record | an event with its position and time |
//! | recording | the output of an agent's terminal, in the format of asciinema (`store::recording`) |
//! | review | an iteration in which another agent than the author, the reviewer, inspects the changes; advice, never evidence |
//! | room | the copy of the project, made before the first agent, in which goals run |
//! | run | everything between a start and an end with a reason; may outlive the process |
//! | session | one conversation with an agent; an iteration begins or resumes one |
//! | settling | the check of an iteration's result: checkpoint, changes, plan, claims |
//! | signal | a report of an agent, as parsed by its dialect |
//! | signal log | all signals of an iteration, including those that the journal leaves out (`store::signal_log`) |
//! | steering | a message of the user to the agent |
//! | subscription | one reader's position in a run ([`driver`](ralph_driver)) |
//! | turn | one prompt and everything that the agent does in response |
//! | verdict | whether a turn succeeded, by the agent's own report |
//! | view | the public fold of a run's records, the source of everything that is shown ([`run`](ralph_core::run)) |
