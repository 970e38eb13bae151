/// One line of `/proc/self/maps`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mapping {
    start: usize,
    end: usize,
    rights: Rights,
    is_file: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Rights {
    /// Private, run and never written.
    Code,
    /// Anything else.
    Data,
}

impl Mapping {
    /// The mapping of a line such as `55d0-55f0 r-xp 00019000 fe:00 1234  /usr/bin/frond`.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let rights = match words.next()? {
            "r-xp" | "--xp" => Rights::Code,
            _ => Rights::Data,
        };
        let path = words.nth(3);
        Some(Self {
            start: usize::from_str_radix(start, 16).ok()?,
            end: usize::from_str_radix(end, 16).ok()?,
            rights,
            is_file: path.is_some_and(|path| path.starts_with('/')),
        })
    }

    /// Whether this is code that lies unchanged in a file.
    pub(crate) fn is_code(&self) -> bool {
        self.is_file && self.rights == Rights::Code
    }

    /// Its first address.
    pub(crate) const fn start(&self) -> usize {
        self.start
    }

    /// Its length in bytes.
    pub(crate) const fn len(&self) -> usize {
        self.end.saturating_sub(self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::Mapping;

    fn is_code(line: &str) -> Option<bool> {
        Mapping::parse(line).map(|mapping| mapping.is_code())
    }

    #[test]
    fn only_code_of_files_is_code() {
        assert_eq!(
            is_code("1000-3000 r-xp 0001 fe:00 12   /bin/frond"),
            Some(true)
        );
        assert_eq!(
            is_code("1000-3000 rwxp 0001 fe:00 12   /bin/frond"),
            Some(false)
        );
        assert_eq!(
            is_code("1000-3000 r-xs 0001 fe:00 12   /bin/frond"),
            Some(false)
        );
        assert_eq!(
            is_code("1000-3000 r--p 0001 fe:00 12   /bin/frond"),
            Some(false)
        );
        assert_eq!(
            is_code("1000-3000 r-xp 0000 00:00 0    [vdso]"),
            Some(false)
        );
        assert_eq!(is_code("1000-3000 r-xp 0000 00:00 0"), Some(false));
        assert_eq!(is_code("Rss:                  24 kB"), None);
    }

    #[test]
    fn a_mapping_has_its_length() {
        let length = Mapping::parse("1000-3000 r-xp 0 fe:00 12 /a").map(|m| (m.start(), m.len()));
        assert_eq!(length, Some((0x1000, 0x2000)));
    }
}
