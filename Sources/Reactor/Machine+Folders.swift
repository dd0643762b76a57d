import Glibc

extension Machine {
    /// Makes the names in a folder as durable as the content of the files.
    package static func syncFolder(_ path: String) throws(SystemError) {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let folder = FileDescriptor(owning: try attempt("open") { open(path, flags) })
        try attempt("fsync") { fsync(folder.number) }
    }
}
