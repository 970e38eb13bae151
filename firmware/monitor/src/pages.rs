//! What all pages for people have in common: how they look, and how they read what they show.

const STYLE: &str = include_str!("pages/common.css");
const SCRIPT: &str = include_str!("pages/common.js");
/// In a page, where they belong.
const STYLE_MARK: &str = "/* common.css */";
const SCRIPT_MARK: &str = "// common.js";

/// A page that needs nothing from elsewhere.
#[must_use]
pub fn whole_page(page: &str) -> String {
    page.replacen(STYLE_MARK, STYLE.trim_end(), 1)
        .replacen(SCRIPT_MARK, SCRIPT.trim_end(), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_common_is_in_the_page_where_it_belongs() {
        let whole =
            whole_page("<style>\n/* common.css */\n</style><script>// common.js\n</script>");
        assert!(whole.contains("--ground") && whole.contains("function follow("));
        assert!(!whole.contains(STYLE_MARK) && !whole.contains(SCRIPT_MARK));
    }
}
