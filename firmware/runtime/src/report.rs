use std::rc::Rc;

use frond_clock::Now;
use frond_monitor::Unanswered;
use frond_node::{ReportError, ReportRequest};

use crate::core::Core;

/// Renders what the system account was asked for, as monitoring shows it.
pub(crate) fn answer(
    core: &Rc<Core>,
    now: Now,
    request: &ReportRequest,
) -> Result<String, ReportError> {
    let trust = core.clock().trust();
    let answer = core.with_node(|node| {
        let view = node.view(now);
        core.meter()
            .borrow_mut()
            .measure(now, trust, "", |process| {
                frond_monitor::report(&view, process, &request.what, &request.options)
            })
    });
    answer.map_err(|why| match why {
        Unanswered::Silence => ReportError::Silence,
        Unanswered::Error { code, description } => ReportError::Refused { code, description },
    })
}
