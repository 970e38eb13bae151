use frond_node::View;

use crate::Process;
use crate::answer::{Asked, Form};
use crate::endpoint::Endpoint;
use crate::page::Page;
use crate::query::{Query, Refusal};
use crate::status::Seen;

/// Answers a request for `path` with the parameters `query` (what follows the `?`, empty
/// without), of private ones as much as may be `seen`; `None` when there is nothing at that path: status 404.
#[must_use]
pub fn render(
    view: &View<'_>,
    (path, query): (&str, &str),
    process: &Process<'_>,
    seen: &Seen,
) -> Option<Page> {
    let (_, endpoint) = Endpoint::find(&view.config.monitor_base_path, path)?;
    let asked = Asked {
        view,
        process,
        query: &Query::parse(query),
        form: Form::Lines,
        seen,
    };
    let answer = asked.answer(endpoint, path);
    Some(answer.unwrap_or_else(|Refusal(text)| Page::refused(text)))
}
