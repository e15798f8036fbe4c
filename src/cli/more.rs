//! `ralph continue` with limits, an adapter, a model or a permission mode while a run is in progress: changes that run.

use ralph_core::{
    event::{NewLimits, NewWorker, UserCommand},
    limits::LIMITS,
};
use ralph_state::{
    control::{self, ControlRequest},
    store::journal::read_view,
};

use crate::{
    config::{self, Flag, SettingSources},
    error::{Failure, FailureKind},
};

use super::{
    args::{Args, CliCommand},
    control::show,
    run::place,
};

const ADAPTER: &str = "adapter";
const MODEL: &str = "model";
const PERMISSION_MODE: &str = "permissions.mode";

/// Gives the running run other limits or another permission mode, or its next iterations another agent or model, if
/// `ralph continue` was typed with some. Returns the exit code then.
///
/// # Errors
/// A [`Failure`] if other options were typed as well, or if the run refuses the change.
pub(super) fn change_run(args: &Args) -> Result<Option<u8>, Failure> {
    let Some(CliCommand::Continue(continuing)) = &args.command else {
        return Ok(None);
    };
    let given = [&args.settings.given[..], &continuing.settings.given].concat();
    let changeable = || LIMITS.iter().filter(|row| row.can_be_changed());
    let is_limit = |flag: &Flag| changeable().any(|row| flag.key == row.setting);
    let is_worker = |flag: &Flag| [ADAPTER, MODEL].contains(&flag.key.as_str());
    let limits_too = continuing.iterations.is_some() || given.iter().any(is_limit);
    let is_mode = |flag: &Flag| flag.key == PERMISSION_MODE;
    if !limits_too && !given.iter().any(|flag| is_worker(flag) || is_mode(flag)) {
        return Ok(None);
    }
    let paths = place(args)?.paths;
    let Ok(status) = control::status(&paths.socket()) else {
        return Ok(None);
    };
    if status.over {
        return Ok(None);
    }
    if let Some(other) = given
        .iter()
        .find(|flag| !is_limit(flag) && !is_worker(flag) && !is_mode(flag))
    {
        let why = format!("`{}` cannot be changed while the run is active", other.name);
        return Err(Failure::new(FailureKind::Usage, why).hint("`ralph stop`, then `ralph continue` with it"));
    }
    let is_given = |key: &str| given.iter().any(|flag| flag.key == key);
    let loaded = config::load(&SettingSources {
        flags: given.clone(),
        ..SettingSources::default()
    })?;
    let named = NewWorker {
        adapter: loaded.config.adapter.filter(|_| is_given(ADAPTER)),
        model: loaded.config.model.filter(|_| is_given(MODEL)),
    };
    let mode = loaded.config.permissions.mode;
    let mut limits = NewLimits::default();
    for row in changeable().filter(|row| is_given(row.setting)) {
        if let Some(max) = row.max(&loaded.config.limits) {
            row.set(&mut limits, max);
        }
    }
    if let Some(more) = continuing.iterations {
        let counted = read_view(&paths, &status.run)?.iterations.counted;
        limits.max_iterations = Some(counted.saturating_add(more));
    }
    if limits_too && limits == NewLimits::default() {
        let why = "limits of a running run can be changed but not removed: give a number";
        return Err(Failure::new(FailureKind::Usage, why));
    }
    let ask = |command| show(control::ask(&paths.socket(), &ControlRequest::Command { command })?);
    let mut code = 0;
    if named != NewWorker::default() {
        code = ask(UserCommand::SetWorker { worker: named })?;
    }
    if is_given(PERMISSION_MODE) {
        code = ask(UserCommand::SetPermissionMode { mode })?;
    }
    if limits_too {
        code = ask(UserCommand::SetLimits { limits })?;
    }
    Ok(Some(code))
}
