//! A session is continued by its id where that is wanted: the model sees the first prompt again.

use ralph::event::{AgentSignal, Event};

use super::{PATIENCE, assert_done, in_order, ralph, signals, work_on};
use crate::{
    harness::agent::{Agent, each_agent},
    stand_in::StandIn,
};

fn scenario(agent: Agent) {
    let model = StandIn::start(in_order([&work_on("hello"), &work_on("world")]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    let finished = ralph(agent, &sandbox).args(["--session", "resume"]).run(PATIENCE);
    assert_done(&finished, 2, 2);
    let records = finished.records();
    let told = signals(&records);
    let opened: Vec<_> = told
        .iter()
        .filter_map(|signal| match signal {
            AgentSignal::Opened { session, .. } => Some(session),
            _ => None,
        })
        .collect();
    assert!(opened[0].is_some(), "{told:#?}");
    assert!(
        opened.iter().all(|&session| session == opened[0]),
        "it went on with its session: {opened:?}"
    );
    let resumed = records.iter().find_map(|record| match &record.event {
        Event::IterationStarted {
            iteration: 2, resume, ..
        } => Some(resume),
        _ => None,
    });
    assert_eq!(resumed, Some(opened[0]));

    let third = &model.main_requests()[2];
    assert!(third.prompt().contains("Write world.txt"), "{}", third.prompt());
    let remembered = third
        .user_texts
        .iter()
        .filter(|text| text.contains("Write hello.txt"))
        .count();
    assert!(
        remembered > 0,
        "the first prompt is remembered: {:#?}",
        third.user_texts
    );
}

each_agent!(scenario);
