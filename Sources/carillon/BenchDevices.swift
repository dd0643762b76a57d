import Client
import Gateway
import Glibc
import JSON
import Reactor
import TLS

/// The devices that are made for benches: `bench-1`, `bench-2`, ... Their keys lie in the instance's data folder, so
/// that the next bench finds them.
final class BenchDevices {
    private struct Device: Sendable {
        let number: Int
        let id: String
        let certificatePEM: String
        let keyPEM: String
    }

    /// Bytes of the file at most: each device has about 1200.
    private static let fileLimit = 64 << 20
    /// Devices that are enrolled at a time: while the gateway works for one, the next makes its key.
    private static let threads = 4

    private let instance: Instance
    private let admin: AdminGateway
    /// Those that were enrolled here, and not by an earlier bench.
    private var enrolled: [Device] = []

    init(_ instance: Instance, _ admin: AdminGateway) {
        self.instance = instance
        self.admin = admin
    }

    private var path: String { Files.join(instance.dataDirectory, "bench-devices") }

    /// The first `count` devices; those that are missing are enrolled, until `isInterrupted`.
    func identities(
        _ count: Int,
        until isInterrupted: () -> Bool
    ) throws(CommandError) -> [CourierIdentity] {
        var devices: [Int: Device] = [:]
        let known = try enrolledIDs()
        for device in try load() where known.contains(device.id) { devices[device.number] = device }
        let missing = (1...count).filter { devices[$0] == nil }
        if !missing.isEmpty {
            let failure = try enrol(missing, until: isInterrupted)
            // Also if not all could be: without its key a device is of no use to the next bench.
            for device in enrolled { devices[device.number] = device }
            try save(devices.values.sorted { $0.number < $1.number })
            if let failure { throw failure }
        }
        return (1...count).compactMap { devices[$0] }.map {
            CourierIdentity(certificatePEM: Array($0.certificatePEM.utf8), keyPEM: Array($0.keyPEM.utf8))
        }
    }

    /// What this bench has added to the gateway, in words; nil if nothing.
    var left: String? { Self.left(enrolled[...]) }

    private static func left(_ devices: ArraySlice<Device>) -> String? {
        guard let first = devices.first, let last = devices.last else { return nil }
        let names = devices.count == 1 ? "bench-\(first.number)" : "bench-\(first.number) to bench-\(last.number)"
        return "left at the gateway: \(devices.count) new devices, \(names), for the next bench; "
            + "carillon bench clean removes them"
    }

    /// Removes what this bench has added to the gateway, until `isInterrupted`, and says what became of it.
    func takeBack(until isInterrupted: () -> Bool) -> String {
        if enrolled.isEmpty { return "it had enrolled no devices" }
        Output.note("interrupted: \(enrolled.count) new devices are removed; another signal leaves the rest")
        var (rest, trouble) = (enrolled[...], "")
        do throws(CommandError) {
            while let device = rest.first, !isInterrupted() {
                try remove(device.id)
                rest.removeFirst()
            }
            let removed = Set(enrolled.dropLast(rest.count).map(\.id))
            try save(try load().filter { !removed.contains($0.id) })
        } catch {
            trouble = " (\(error.message))"
        }
        let removed = "removed \(enrolled.count - rest.count) devices that it had enrolled"
        return removed + trouble + (Self.left(rest).map { "\n\($0)" } ?? "")
    }

    /// With its registrations and what waits for it. One that is gone already is as good.
    private func remove(_ id: String) throws(CommandError) {
        do throws(CommandError) {
            _ = try admin.request("DELETE", "/v1/devices/\(HTTPClient.escape(id))")
        } catch {
            guard error.code == "not_found" else { throw error }
        }
    }

    /// `carillon bench clean`.
    static func clean(_ invocation: Invocation) throws(CommandError) -> Outcome {
        let instance = try Instance.require(invocation)
        let devices = BenchDevices(instance, try AdminGateway(instance))
        let ids = try devices.enrolledIDs().sorted()
        for id in ids { try devices.remove(id) }
        unlink(devices.path)
        if invocation.wantsJSON {
            Output.object { $0.field("removed", ids.count) }
        } else {
            Output.line("removed \(ids.count) devices")
        }
        return .done
    }

    /// The devices of that name which the gateway knows: a file may be older than its gateway's memory.
    private func enrolledIDs() throws(CommandError) -> Set<String> {
        var ids: Set<String> = []
        try admin.items("/v1/devices") { device throws(CommandError) in
            guard let id = device["id"]?.string, let name = device["name"]?.string else { return }
            if Self.isBench(name) { ids.insert(id) }
        }
        return ids
    }

    static func isBench(_ name: String) -> Bool {
        let number = name.dropFirst("bench-".count)
        return name.hasPrefix("bench-") && !number.isEmpty && number.allSatisfy(\.isWholeNumber)
    }

    /// Enrols devices with these numbers, and returns why not all of them could be.
    private func enrol(_ numbers: [Int], until isInterrupted: () -> Bool) throws(CommandError) -> CommandError? {
        let work = Locked((left: numbers[...], done: [Device](), failure: CommandError?.none))
        let instance = self.instance
        var ends: [Reply<Bool>] = []
        for _ in 0..<min(Self.threads, numbers.count) {
            let end = Reply<Bool>()
            do throws(SystemError) {
                _ = try Worker(name: "enrol") {
                    Self.enrolEach(of: work, instance)
                    end.set(true)
                }
                ends.append(end)
            } catch {
                // Those that started do it alone.
                guard ends.isEmpty else { break }
                throw .failed(code: "threads", message: error.description)
            }
        }
        for end in ends {
            while end.wait(milliseconds: 100) == nil {
                guard isInterrupted() else { continue }
                work.withLock { $0.failure = .failed(code: "interrupted", message: "interrupted") }
            }
        }
        let (done, failure) = work.withLock { ($0.done, $0.failure) }
        enrolled = done.sorted { $0.number < $1.number }
        return failure
    }

    private typealias Work = Locked<(left: ArraySlice<Int>, done: [Device], failure: CommandError?)>

    private static func enrolEach(of work: Work, _ instance: Instance) {
        do throws(CommandError) {
            let admin = try AdminGateway(instance)
            while let number = work.withLock({ $0.failure == nil ? $0.left.popFirst() : nil }) {
                let enrolment = try Enrolment(name: "bench-\(number)", key: Enrolment.makeKey(rsaBits: nil), admin)
                let device = Device(
                    number: number,
                    id: enrolment.id,
                    certificatePEM: String(decoding: enrolment.certificatePEM, as: UTF8.self),
                    keyPEM: String(decoding: enrolment.key.pem, as: UTF8.self)
                )
                work.withLock { $0.done.append(device) }
            }
        } catch {
            work.withLock { $0.failure = error }
        }
    }

    private func load() throws(CommandError) -> [Device] {
        guard Files.exists(path) else { return [] }
        var devices: [Device] = []
        for line in try Files.read(path, limit: Self.fileLimit).split(separator: UInt8(ascii: "\n")) {
            let value: JSONValue
            do throws(JSONError) {
                value = try JSONValue(parsing: line.span)
            } catch {
                throw .failed(code: "file", message: "\(path) is damaged; carillon bench clean makes an end of it")
            }
            guard let number = value["number"]?.int, let id = value["id"]?.string,
                let certificate = value["certificate"]?.string, let key = value["key"]?.string
            else { continue }
            devices.append(Device(number: number, id: id, certificatePEM: certificate, keyPEM: key))
        }
        return devices
    }

    private func save(_ devices: [Device]) throws(CommandError) {
        guard !devices.isEmpty else {
            unlink(path)
            return
        }
        var bytes: [UInt8] = []
        for device in devices {
            var writer = JSONWriter()
            writer.object { writer in
                writer.field("number", device.number)
                writer.field("id", device.id)
                writer.field("certificate", device.certificatePEM)
                writer.field("key", device.keyPEM)
            }
            bytes += writer.bytes + [UInt8(ascii: "\n")]
        }
        try Files.replace(path, bytes, mode: 0o600)
    }
}
