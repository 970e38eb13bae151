//! `/`: a page that lists the documents.

use std::fmt::Write as _;

use crate::endpoint::ENDPOINTS;
use crate::page::{HTML, Page};
use crate::rows::Server;

/// Links are relative to the base path, which ends the request's path with or without a slash.
///
/// Who looks after boxes has a page of its own.
pub(crate) fn page(server: &Server, has_fleet: bool, path: &str) -> Page {
    let below = match path.rsplit('/').next() {
        Some("") | None => "./".to_owned(),
        Some(last) => format!("./{last}/"),
    };
    let mut items = String::new();
    let own = ENDPOINTS.iter().map(|(name, _, what)| (*name, *what));
    let fleet = has_fleet.then_some(("/fleet", "the boxes of this hub"));
    let (first, rest) = own.partition::<Vec<_>, _>(|(name, _)| *name == "/status");
    let all = first.into_iter().chain(fleet).chain(rest);
    for (name, what) in all.filter(|(_, what)| !what.is_empty()) {
        let to = name.trim_start_matches('/');
        // Writing to a string cannot fail.
        let _ = writeln!(items, "<li><a href=\"{below}{to}\">{name}</a> {what}</li>");
    }
    let name = escape(&server.name);
    let version = escape(&server.version);
    let body = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{name}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n\
         <p>Frond, compatible with nats-server {version}</p>\n<ul>\n{items}</ul>\n</body>\n</html>\n"
    );
    Page {
        status: 200,
        content_type: HTML,
        body,
    }
}

const STYLE: &str = "body{font:16px/1.6 system-ui,sans-serif;max-width:36em;margin:2em auto;\
padding:0 1em;color:#234}ul{list-style:none;padding:0}a{display:inline-block;width:8em;\
font-family:ui-monospace,monospace;color:#186}p{color:#678}";

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_documents_are_linked_and_names_cannot_break_out() {
        let server = Server {
            name: "<b>&\"".into(),
            ..Server::default()
        };
        let plain = page(&server, false, "/").body;
        for (name, _, what) in &ENDPOINTS {
            let linked = plain.contains(&format!("href=\".{name}\""));
            assert_eq!(linked, !what.is_empty(), "{name}");
        }
        assert!(plain.contains("<h1>&lt;b&gt;&amp;&quot;</h1>") && !plain.contains("<b>"));
        assert!(
            page(&server, true, "/mon")
                .body
                .contains("href=\"./mon/varz\"")
        );
        let fleet = page(&server, true, "/mon/").body;
        assert!(fleet.contains("href=\"./varz\"") && fleet.contains("href=\"./fleet\""));
        assert!(!plain.contains("/fleet"));
    }
}
