import Foundation
import Gateway
import Glibc
import JSON
import TLS
import Testing

import func PushCore.hexadecimal

@testable import carillon

/// Makes real instances in a folder of their own: what is checked here is what lies on the disk.
@Suite struct InstanceTests {
    private let temporary: TemporaryFolder

    init() throws {
        temporary = try TemporaryFolder()
        try run("init --directory \(temporary.path)/i --provider-port 9443 --host push.example.com")
    }

    private var folder: String { temporary.path }
    private var configPath: String { "\(folder)/i/carillon.conf" }

    private func run(_ line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        guard case .run(let invocation) = try Request(words) else { return }
        _ = try invocation.command.run(invocation)
    }

    private func startMistake() -> CommandError? {
        #expect(throws: CommandError.self) { try StartFiles.read(Instance(configPath: configPath)) }
    }

    @Test func `a new instance starts, with what was asked for`() throws {
        let instance = try Instance(configPath: configPath)
        let files = try StartFiles.read(instance)
        #expect(instance.config.providerPorts == [9443])
        #expect(try Files.readText(instance.adminTokenPath).utf8.count == 65)
        #expect(try Certificate(pem: files.certificatePEM).names.contains("push.example.com"))
        #expect(instance.providerKeyPaths.count == 1)
        #expect(Permissions.problems(of: instance.secretPaths).isEmpty)
        #expect(Files.access(of: configPath)?.mode == 0o644)
    }

    @Test func `the first start finds the demo app and its key's public half`() throws {
        let instance = try Instance(configPath: configPath)
        let text = try Files.read(instance.seedPath)
        let seed = try JSONValue(parsing: text.span)
        let key = try #require(seed["keys"]?.array?.first)
        let pem = try #require(key["publicKey"]?.string)
        let path = try #require(instance.providerKeyPaths.first)
        #expect(seed["apps"]?.array?.first?["bundle"]?.string == "com.example.demo")
        #expect(ProviderKeyChoice.keyID(ofFile: path) == key["keyID"]?.string)
        let privatePEM = try Files.read(path)
        #expect(try PublicKey(pem: Array(pem.utf8)).spki == PrivateKey(pem: privatePEM).publicKey.spki)
    }

    @Test func `a folder that holds an instance is refused`() {
        let error = #expect(throws: CommandError.self) { try run("init --directory \(folder)/i") }
        #expect(error?.code == "exists")
    }

    @Test(arguments: ["pki/server.pem", "pki/server.key", "pki/ca.pem", "pki/ca.key", "admin.token"])
    func `a missing file stops the start by its name`(_ name: String) {
        unlink("\(folder)/i/\(name)")
        #expect(startMistake()?.message.hasPrefix("\(folder)/i/\(name) is missing") == true)
    }

    @Test(arguments: ["pki/server.key", "pki/ca.key", "admin.token", "data", "data/seed.json"])
    func `a secret that others can read stops the start with what to type`(_ name: String) {
        let path = "\(folder)/i/\(name)"
        let mode = name == "data" ? "700" : "600"
        chmod(path, 0o750)
        #expect(startMistake()?.message == "\(path) is open to group or others; type: chmod \(mode) \(path)")
    }

    @Test func `an expired certificate stops the start by its name and date`() throws {
        let instance = try Instance(configPath: configPath)
        let (certificatePEM, keyPEM) = try (Files.read(instance.authorityPath), Files.read(instance.authorityKeyPath))
        let authority = try CertificateAuthority(certificatePEM: certificatePEM, keyPEM: keyPEM)
        let expired = try authority.issueServer(names: ["localhost"], days: -1)
        unlink(instance.certificatePath)
        try Files.create(instance.certificatePath, expired.certificatePEM, mode: 0o600)
        #expect(startMistake()?.message.hasPrefix("the certificate in \(instance.certificatePath) expired on ") == true)
    }

    @Test func `a typo in the settings names its line and the nearest key`() throws {
        let text = try Files.readText(configPath) + "queue.limt = 7\n"
        unlink(configPath)
        try Files.create(configPath, Array(text.utf8), mode: 0o644)
        let line = text.split(separator: "\n", omittingEmptySubsequences: false).count - 1
        let error = #expect(throws: CommandError.self) { try Instance(configPath: configPath) }
        #expect(error?.message == "\(configPath):\(line): unknown setting queue.limt; did you mean queue.limit?")
    }

    @Test func `settings that are a link are read where they lie`() throws {
        symlink(configPath, "\(folder)/linked.conf")
        let instance = try Instance(configPath: "\(folder)/linked.conf")
        #expect(instance.directory == Files.absolute("\(folder)/i"))
    }

    @Test func `test hooks are refused in production`() {
        let line = "serve --config \(configPath) --set environment=production --test-hooks"
        let error = #expect(throws: CommandError.self) { try run(line) }
        #expect(error?.code == "test_hooks")
    }

    @Test func `several keys are a choice for who sends`() throws {
        try Files.create("\(folder)/i/keys/AuthKey_AAAAAAAAAA.p8", PrivateKey.p256().pem, mode: 0o600)
        let line = "send --config \(configPath) --topic com.example.demo --token 00 --alert hello"
        let error = #expect(throws: CommandError.self) { try run(line) }
        #expect(error?.exitStatus == 2)
        #expect(error?.message.contains("AuthKey_AAAAAAAAAA.p8") == true)
    }

    @Test func `a gateway that does not run is named with what to type`() {
        let error = #expect(throws: CommandError.self) {
            try run("status --admin http://127.0.0.1:1 --config \(configPath)")
        }
        #expect(error?.message == "gateway not reachable at http://127.0.0.1:1; start it with carillon serve")
        #expect(error?.exitStatus == 1)
    }
}

/// A folder that goes with the test.
private final class TemporaryFolder {
    let path: String

    init() throws {
        let parent = FileManager.default.temporaryDirectory.path()
        path = Files.join(parent, "carillon-tests-\(hexadecimal(SecureRandom.bytes(8)))")
        try Files.createDirectory(path)
    }

    deinit { remove(path) }

    private func remove(_ path: String) {
        if Files.access(of: path)?.isDirectory == true {
            for name in Files.names(in: path) { remove(Files.join(path, name)) }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
