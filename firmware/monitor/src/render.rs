use frond_node::View;

use crate::Process;
use crate::answer::{Asked, Form};
use crate::endpoint::Endpoint;
use crate::page::Page;
use crate::query::{Query, Refusal};

/// Answers a request for `path` with the parameters `query` (what follows the `?`, empty
/// without); `None` when there is nothing at that path: status 404.
#[must_use]
pub fn render(view: &View<'_>, path: &str, query: &str, process: &Process<'_>) -> Option<Page> {
    let (_, endpoint) = Endpoint::find(&view.config.monitor_base_path, path)?;
    let asked = Asked {
        view,
        process,
        query: &Query::parse(query),
        form: Form::Lines,
    };
    let answer = asked.answer(endpoint, path);
    Some(answer.unwrap_or_else(|Refusal(text)| Page::refused(text)))
}
