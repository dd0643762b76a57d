import Gateway
import Glibc
import PushCore
import Reactor
import TLS

/// The doctor's checks of the instance's files.
enum FileChecks {
    static let all: [@Sendable (Instance) -> Finding] = [
        certificateDates, certificateNames, diskSpace, fsyncSpeed, permissions,
    ]

    /// Long enough before the end to get a new certificate for the server; and for the authority, whose devices need
    /// new ones first, as long as theirs are good.
    private static let (serverDaysWanted, authorityDaysWanted) = (Int64(30), Int64(CertificateLife.device.days))
    /// Below the first a busy gateway is near its end, below the second it is there.
    private static let (spaceWanted, spaceNeeded): (UInt64, UInt64) = (1 << 30, 100 << 20)
    /// A commit is one sync: slower than this, pushes wait.
    private static let syncMillisecondsWanted = 20.0

    private static func certificateDates(_ instance: Instance) -> Finding {
        let checked: [(path: String, wanted: Int64, command: String)] = [
            (instance.certificatePath, serverDaysWanted, "carillon certificate renew"),
            (instance.authorityPath, authorityDaysWanted, "carillon certificate roll-over"),
        ]
        let now = Clock.wall() / 1_000_000_000
        var left: [String] = []
        for (path, wanted, command) in checked {
            let certificate: Certificate
            do throws(CommandError) {
                certificate = try StartFiles.certificate(Files.read(path), at: path)
            } catch {
                return .failed("certificate-dates", error.message, fix: "put a certificate in PEM there")
            }
            let days = (certificate.notAfter - now) / 86_400
            if certificate.notAfter <= now {
                let date = shownUTC(seconds: certificate.notAfter)
                return .failed("certificate-dates", "\(path) expired on \(date)", fix: command)
            }
            if days < wanted {
                return .warning("certificate-dates", "\(path) is good for \(days) more days", fix: command)
            }
            left.append("\(Files.split(path).name) \(days) days")
        }
        return .ok("certificate-dates", "left: \(left.joined(separator: ", "))")
    }

    private static func certificateNames(_ instance: Instance) -> Finding {
        let names: [String]
        do throws(CommandError) {
            let path = instance.certificatePath
            names = try StartFiles.certificate(Files.read(path), at: path).names
        } catch {
            return .failed("certificate-names", error.message, fix: "put a certificate in PEM there")
        }
        let message = "the server's certificate names \(names.joined(separator: ", "))"
        if instance.config.environment == .development || !names.allSatisfy({ isLoopback($0) }) {
            return .ok("certificate-names", message)
        }
        return .warning(
            "certificate-names",
            "\(message): no other machine can verify it",
            fix: "carillon certificate renew --host NAME makes one with the name clients use"
        )
    }

    private static func diskSpace(_ instance: Instance) -> Finding {
        guard instance.storePath != nil else { return .skipped("disk-space", "the store is memory only") }
        var status = statvfs()
        guard statvfs(instance.dataDirectory, &status) == 0 else {
            return .skipped("disk-space", Files.failure("look at", instance.dataDirectory).message)
        }
        let free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
        let message = "\(free >> 20) MiB free for \(instance.dataDirectory)"
        let fix = "make room, or lower log.rows, log.keep and queue.limit"
        if free < spaceNeeded { return .failed("disk-space", message, fix: fix) }
        return free < spaceWanted ? .warning("disk-space", message, fix: fix) : .ok("disk-space", message)
    }

    private static func fsyncSpeed(_ instance: Instance) -> Finding {
        guard instance.storePath != nil else { return .skipped("fsync-speed", "the store is memory only") }
        let path = Files.join(instance.dataDirectory, "doctor-\(getpid()).tmp")
        defer { unlink(path) }
        var times: [Double] = []
        do throws(CommandError) {
            for _ in 0..<9 {
                unlink(path)
                let start = Clock.monotonic()
                try Files.create(path, [UInt8](repeating: 0, count: 4096), mode: 0o600)
                times.append(Double(Clock.monotonic() - start) / 1e6)
            }
        } catch {
            return .skipped("fsync-speed", error.message)
        }
        let median = times.sorted()[times.count / 2]
        let message = "writing and syncing 4 KiB takes \(oneDecimal(median)) ms"
        if median <= syncMillisecondsWanted { return .ok("fsync-speed", message) }
        return .warning("fsync-speed", message, fix: "put data on a local disk that syncs faster")
    }

    private static func permissions(_ instance: Instance) -> Finding {
        let paths = instance.secretPaths
        // Root looks on behalf of whoever runs the gateway.
        let owner = geteuid() == 0 ? Files.access(of: instance.dataDirectory)?.owner : nil
        let problems = Permissions.problems(of: paths, user: owner ?? geteuid())
        guard let first = problems.first else {
            return .ok("permissions", "\(paths.count) private files and folders are private")
        }
        let fixes = problems.compactMap { $0.split(separator: "type: ").last.map(String.init) }
        return .failed("permissions", first, fix: fixes.joined(separator: " && "))
    }
}
