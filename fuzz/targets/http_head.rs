//! The head of a request to the sandbox's proxy. A head that the proxy passes on is read by the next server as one request.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ralph_system::proxy::forwarded_head;

fuzz_target!(|bytes: &[u8]| {
    let Some(head) = forwarded_head(bytes) else { return };
    let body = head.strip_suffix("\r\n\r\n").expect("an empty line at the end");
    let mut lines = body.split("\r\n");
    let request: Vec<&str> = lines.next().expect("a first line").split(' ').collect();
    assert!(
        matches!(request[..], [_, path, "HTTP/1.0" | "HTTP/1.1"] if path.starts_with('/')),
        "{request:?}"
    );
    let mut hosts = 0;
    for line in lines {
        assert!(!line.contains(['\r', '\n', '\0']), "{line:?}");
        let (name, _) = line.split_once(':').expect("a field");
        hosts += usize::from(name.eq_ignore_ascii_case("host"));
        assert!(!name.to_ascii_lowercase().starts_with("proxy-"), "{line:?}");
    }
    assert_eq!(hosts, 1, "{head:?}");
});
