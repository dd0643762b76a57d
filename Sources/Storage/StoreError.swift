import Glibc

/// A store that cannot do what it was asked: what is wrong, in which file, and what an operator can do about it.
package struct StoreError: Error, Equatable, CustomStringConvertible, Sendable {
    /// The ways in which a store fails.
    package enum Kind: String, Sendable, CaseIterable {
        case cannotOpen
        case inUse
        /// It was deleted or replaced while it was open.
        case gone
        /// Written by a newer version of this program, or by another program.
        case foreign
        case damaged
        case full
        case readOnly
        /// The system failed to read or write, or SQLite could not go on.
        case failed
        /// More waits than the store may hold.
        case overloaded
        case closed
        /// A test asked for it.
        case test
    }

    /// In which way it failed.
    package let kind: Kind
    /// What is wrong, in words.
    package let what: String
    /// The database.
    package let file: String
    /// What to do about it.
    package let remedy: String

    package init(_ kind: Kind, _ what: String, file: String, remedy: String? = nil) {
        self.kind = kind
        self.what = what
        self.file = file
        self.remedy = remedy ?? Self.usualRemedy(kind, file)
    }

    package var description: String { "\(file): \(what); \(remedy)" }

    /// The same to whoever has just started a program, which does not go on by itself.
    package var startDescription: String {
        kind == .full ? "\(file): \(what); free disk space, then start again" : description
    }

    /// What the system has just said about `path`.
    static func system(_ what: String, _ path: String, code: Int32 = errno) -> StoreError {
        let reason = strerror(code).map { String(cString: $0) } ?? "error \(code)"
        let kind: Kind =
            switch code {
            case EROFS: .readOnly
            case ENOSPC, EDQUOT: .full
            case EIO: .failed
            default: .cannotOpen
            }
        return StoreError(kind, "\(what): \(reason)", file: path)
    }

    private static func usualRemedy(_ kind: Kind, _ file: String) -> String {
        switch kind {
        case .cannotOpen: "check that its folder exists and belongs to the user that runs carillon"
        case .inUse: "stop the other process that uses it"
        case .gone:
            "do not stop carillon before you have put the file back, or copied what it still has open "
                + "(docs/operations.md, 'A deleted store')"
        case .foreign: "start the version that wrote it, or name another file"
        case .damaged:
            "stop carillon, keep a copy of its folder, then restore a backup, or save what can be read "
                + "with sqlite3 \(file) .dump (docs/operations.md, 'A damaged store')"
        case .full: "free disk space; it goes on by itself"
        case .readOnly: "make the file, its folder and the file system writable"
        case .failed: "check the disk and the system's log"
        case .overloaded: "check why the disk is slow, or send less"
        case .closed: "nothing to do, carillon is stopping"
        case .test: "end the test"
        }
    }
}
