use std::rc::Rc;

use crate::check;
use crate::core::Core;
use crate::log::{Detail, Log};
use crate::options::Options;

/// Reads the configuration again and applies it whole, or refuses it whole; says so in the log.
///
/// # Errors
/// Why it was refused.
pub(crate) fn reload(
    core: &Rc<Core>,
    options: &mut Options,
    log: &Log,
    reread: &dyn Fn() -> Result<Options, String>,
) -> Result<(), String> {
    let done = try_reload(core, options, log, reread);
    match &done {
        Ok(()) => tracing::info!("Reloaded server configuration ({})", options.digest),
        Err(why) => tracing::error!("Failed to reload server configuration: {why}"),
    }
    done
}

fn try_reload(
    core: &Rc<Core>,
    options: &mut Options,
    log: &Log,
    reread: &dyn Fn() -> Result<Options, String>,
) -> Result<(), String> {
    if options.path.is_none() {
        return Err(
            "can only reload config when a file is provided using -c or --config".to_owned(),
        );
    }
    let new = reread()?;
    let contexts = core.tls().load(&new.config)?;
    let now = core.clock().now();
    let jwts = check::read_jwts(&new.config)?;
    let claims_dir = check::claims_dir(&new.config)?;
    let moved = claims_dir != check::claims_dir(&options.config)?;
    core.with_node(|node| -> Result<(), String> {
        node.reload(now, &new.config)?;
        node.reread_claims(now, jwts);
        Ok(())
    })?;
    core.tls().replace(contexts);
    // An equal directory keeps its writer: two could overtake each other.
    if moved {
        core.keep_claims_in(claims_dir);
    }
    core.forwards().apply(core, &new.config);
    core.tell_cert_ends();
    check::tell_missing_credentials(&new.config);
    core.settle();
    if let Err(error) = log.apply(&new.config.log) {
        tracing::error!("the log goes on where it is: {error}");
    }
    core.meter().borrow_mut().reloaded(now, &new.digest);
    core.reloaded.notify_one();
    log.set_detail(detail(&new));
    *options = new;
    Ok(())
}

/// How much the options want logged.
pub(crate) fn detail(options: &Options) -> Detail {
    let log = &options.config.log;
    Detail {
        debug: log.debug,
        trace: log.trace || log.trace_verbose,
    }
}
