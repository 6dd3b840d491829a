//! What a static library defines.

/// Whether a symbol with `part` in its name is defined in the archive, as far as its index tells; `None`: it has no index.
pub(crate) fn defines(archive: &[u8], part: &str) -> Option<bool> {
    // The first member is the index: a header of 60 bytes, which gives its size, then places and names of symbols.
    let member = archive.strip_prefix(b"!<arch>\n")?;
    let (header, rest) = member.split_at_checked(60)?;
    if !header.starts_with(b"/ ") && !header.starts_with(b"/SYM64/") {
        return None;
    }
    let size = str::from_utf8(&header[48..58]).ok()?.trim().parse().ok()?;
    let index = rest.get(..size)?;
    Some(index.windows(part.len()).any(|bytes| bytes == part.as_bytes()))
}
