import CLinux
import Glibc

/// The service manager that started the process, told by datagrams how it goes (sd_notify(3)). What cannot be told is
/// dropped: the gateway serves whether or not someone listens. Why not by systemd's library is told in
/// docs/decisions/0031-datagrams-for-systemd.md.
package final class ServiceSupervisor: Sendable {
    private let socket: FileDescriptor
    private let address: sockaddr_un
    private let addressCount: socklen_t
    /// How often it wants to hear that all is well, in nanoseconds; nil if never.
    package let watchdogNanoseconds: Int64?

    /// Nil if the variables name none. `processID` is ours: a watchdog that is meant for another process is not fed.
    package init?(variables: [String: String], processID: Int32) {
        guard let name = variables["NOTIFY_SOCKET"], let (address, count) = unixAddress(name) else { return nil }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let number = Glibc.socket(AF_UNIX, type, 0)
        guard number >= 0 else { return nil }
        socket = FileDescriptor(owning: number)
        (self.address, addressCount) = (address, count)
        let isMeant = variables["WATCHDOG_PID"].map { Int32($0) == processID } ?? true
        let microseconds = variables["WATCHDOG_USEC"].flatMap { Int64($0) } ?? 0
        let isWanted = isMeant && microseconds > 0 && microseconds < .max / 1000
        watchdogNanoseconds = isWanted ? microseconds * 1000 : nil
    }

    /// It serves.
    package func ready(_ status: String) { tell("READY=1\nSTATUS=\(status)") }
    /// It reads its files again; `ready` ends that, whether or not they were good.
    package func reloading() {
        tell("RELOADING=1\nMONOTONIC_USEC=\(Clock.monotonic() / 1000)\nSTATUS=reloading")
    }
    /// It drains and will end.
    package func stopping() { tell("STOPPING=1\nSTATUS=draining") }
    /// All of it is alive.
    package func alive() { tell("WATCHDOG=1") }

    private func tell(_ text: String) {
        var address = address
        var text = text
        text.withUTF8 { bytes in
            _ = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    // A manager that does not read must not hold us up; it will notice that it has missed something.
                    sendto(socket.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL), $0, addressCount)
                }
            }
        }
    }
}

/// A path, or a name that begins with `@` in the abstract space; nil for what is neither or too long.
private func unixAddress(_ name: String) -> (address: sockaddr_un, count: socklen_t)? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    let offset = MemoryLayout<sockaddr_un>.size - MemoryLayout.size(ofValue: address.sun_path)
    guard bytes.count > 1, bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return nil }
    switch bytes[0] {
    case UInt8(ascii: "@"): bytes[0] = 0
    case UInt8(ascii: "/"): bytes.append(0)
    default: return nil
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    return (address, socklen_t(offset + bytes.count))
}
