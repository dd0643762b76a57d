import Client
import Gateway
import Glibc
import JSON
import PushCore
import Reactor

/// `carillon backup`: a running instance in one file.
///
/// The gateway copies its store, because nobody else may open it; settings, certificates, keys and token are added from
/// the instance's folder. So it runs where the instance is, and as a user who may read it.
enum BackupCommand {
    static let command = Command(
        name: "backup",
        summary: "put a running instance into one file, a tar archive; it holds every secret",
        arguments: ["FILE"],
        options: [.flag("replace", "put it in the place of an older FILE")] + CommandOption.adminAccess,
        example: "carillon backup carillon-monday.tar",
        run: run
    )

    private static func run(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        let path = Files.absolute(invocation.arguments[0])
        guard invocation.has("replace") || !Files.exists(path) else {
            throw .failed(code: "exists", message: "\(path) is there already; say --replace")
        }
        let gateway = try AdminGateway(invocation)
        let copy = try StoreCopy(gateway)
        let report: Report
        do throws(CommandError) {
            let facts = try copy.wait()
            report = Report(path: path, facts: facts, left: instance.externalPaths)
            try Files.replace(path, mode: 0o600, mayReplace: invocation.has("replace")) {
                descriptor throws(CommandError) in
                var archive = ArchiveWriter(to: descriptor, path: path, time: Clock.wall() / 1_000_000_000)
                try write(instance, copy, at: facts["file"]?.string ?? "", to: &archive)
            }
        } catch {
            copy.remove()
            throw error
        }
        copy.remove()
        report.show(json: invocation.wantsJSON)
        return .done
    }

    private static func write(
        _ instance: Instance,
        _ copy: StoreCopy,
        at path: String,
        to archive: inout ArchiveWriter
    ) throws(CommandError) {
        for (name, file) in instance.backupFiles { try archive.add(name, Files.read(file)) }
        do throws(CommandError) {
            try Files.withFile(path) { store, size throws(CommandError) in
                // What is open now stays, whatever is put in its place.
                guard !copy.isDisplaced else { throw StoreCopy.displaced }
                try archive.add(Backup.storeName, from: store, size: size)
            }
        } catch {
            // Then that is why, whatever it looked like.
            throw copy.isDisplaced ? StoreCopy.displaced : error
        }
        try archive.finish()
    }

    /// What the command says it did.
    private struct Report {
        let path: String
        let facts: JSONValue
        let left: [String]

        func show(json: Bool) {
            let bytes = Files.size(of: path) ?? 0
            guard json else {
                let pushes = facts["pushes"].flatMap(text) ?? "0"
                let devices = facts["devices"].flatMap(text) ?? "0"
                Output.line(
                    "\(path): \(devices) devices, \(pushes) waiting pushes, \(bytes) bytes. Guard it like the instance."
                )
                for path in left { Output.note("carillon: \(path) lies outside the instance and is not in it") }
                return
            }
            Output.object { writer in
                writer.field("file", path)
                writer.field("bytes", bytes)
                writer.field("startedAt", facts["startedAt"] ?? .null)
                writer.field("storeVersion", facts["storeVersion"] ?? .null)
                writer.field("pushes", facts["pushes"] ?? .null)
                writer.field("devices", facts["devices"] ?? .null)
                writer.field("left", JSONValue.array(left.map(JSONValue.string)))
            }
        }
    }
}

/// What is known of every backup.
enum Backup {
    /// The most that a file in it may hold, but for the store: settings, keys and certificates are far smaller.
    static let smallLimit = 8 << 20
    static let settingsName = "carillon.conf"
    static let storeName = "carillon.db"
}

/// The gateway's copy of its store, while a backup is made from it.
private struct StoreCopy {
    private let gateway: AdminGateway
    private let path: String

    /// Has the gateway begin one.
    init(_ gateway: AdminGateway) throws(CommandError) {
        self.gateway = gateway
        let begun = try gateway.parse(gateway.request("POST", "/v1/backups"))
        guard let id = begun["id"]?.string else {
            throw .failed(code: "bad_answer", message: "\(gateway.url) answered no backup")
        }
        path = "/v1/backups/\(HTTPClient.escape(id))"
    }

    /// Waits until it is whole, however long that takes.
    func wait() throws(CommandError) -> JSONValue {
        while true {
            let copy = try gateway.parse(gateway.request("GET", path))
            switch copy["state"]?.string {
            case "done": return copy
            case "running": usleep(50_000)
            default: throw .failed(code: "backup", message: copy["error"]?.string ?? "the store was not copied")
            }
        }
    }

    /// Whether another backup has begun since, and made way for its own copy.
    var isDisplaced: Bool {
        do throws(CommandError) {
            _ = try gateway.request("GET", path)
            return false
        } catch {
            return error.code == "not_found"
        }
    }

    static let displaced = CommandError.failed(
        code: "backup",
        message: "another backup has begun meanwhile and taken the place of this one; make it again"
    )

    func remove() {
        // One that stays makes way for the next, and the backup is as good.
        _ = try? gateway.request("DELETE", path)
    }
}

extension Instance {
    /// What a backup takes from the instance's folder, by its name there: all but the store and the delivery log.
    var backupFiles: [(name: String, path: String)] {
        let tokens = Files.names(in: directory).filter { $0.hasPrefix("admin.") && $0.hasSuffix("token") }
        let folders = ["pki", "keys"].flatMap { folder in
            Files.names(in: path(folder)).map { "\(folder)/\($0)" }
        }
        let others = [config.tlsCertificate, config.tlsKey, config.tlsCA].filter(Files.staysInside)
        let names = Set(tokens + folders + others).filter { Files.isFile(path($0)) }
        return [(Backup.settingsName, configPath)] + names.sorted().map { ($0, path($0)) }
    }

    /// Files that the settings name and a backup leaves out, because they are not the instance's.
    var externalPaths: [String] {
        [config.tlsCertificate, config.tlsKey, config.tlsCA].filter { !Files.staysInside($0) }.map(path)
    }
}
