
extern "C" fn before_main() {
    std::process::exit(0);
}

#[unsafe(link_section = ".init_array")]
#[used]
pub static BEFORE_MAIN: extern "C" fn() = before_main;
