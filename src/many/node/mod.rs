//! The side of a node: another machine that runs plans of a batch and shares no files with it.
//!
//! A batch starts `ralph __node` on the node for each request and talks to it over stdin and stdout ([`wire`]). There is
//! no service on a node. What has to outlive a connection is a process of its own, [`keeper`], and files: a lock that
//! it holds and the end of the job.

mod keeper;
mod place;
mod serve;
mod wire;

pub(crate) use keeper::keep_job;
pub(crate) use serve::serve;
pub(super) use wire::{
    BUNDLE_CAP_BYTES, BundleHeader, GREETING, JobState, LINE_CAP_BYTES, NodeJob, NodeReply, NodeRequest,
    OpenMergeRequest, StartRequest, VERSION, is_name,
};
