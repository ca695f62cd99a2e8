// SPDX-License-Identifier: GPL-2.0
// Raises RDMA asynchronous events that no cable of a test makes, through the kernel's own path:
//   echo "rxe1 1 11" > /sys/kernel/debug/evinject/port   device, port, enum ib_event_type
//   echo "rxe1 17 1" > /sys/kernel/debug/evinject/qp     device, QP number, enum ib_event_type
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>
#include <rdma/restrack.h>

static struct dentry *directory;

static int raise_qp_event(struct ib_device *device, u32 qpn, struct ib_event *event)
{
	struct rdma_restrack_entry *entry = rdma_restrack_get_byid(device, RDMA_RESTRACK_QP, qpn);
	struct ib_qp *qp;
	int ret = 0;

	if (IS_ERR(entry))
		return PTR_ERR(entry);
	qp = container_of(entry, struct ib_qp, res);
	event->element.qp = qp;
	if (qp->event_handler)
		qp->event_handler(event, qp->qp_context);
	else
		ret = -EOPNOTSUPP;
	rdma_restrack_put(entry);
	return ret;
}

static ssize_t inject(struct file *file, const char __user *text, size_t length, loff_t *offset)
{
	bool is_qp = (long)file->private_data == 1;
	char line[80], name[32];
	unsigned int object, type;
	struct ib_device *device;
	struct ib_event event = {};
	int ret = 0;

	if (length >= sizeof(line) || copy_from_user(line, text, length))
		return -EINVAL;
	line[length] = 0;
	if (sscanf(line, "%31s %u %u", name, &object, &type) != 3)
		return -EINVAL;
	device = ib_device_get_by_name(name, RDMA_DRIVER_UNKNOWN);
	if (!device)
		return -ENODEV;
	event.device = device;
	event.event = type;
	if (is_qp) {
		ret = raise_qp_event(device, object, &event);
	} else {
		event.element.port_num = object;
		ib_dispatch_event(&event);
	}
	ib_device_put(device);
	return ret ? ret : length;
}

static const struct file_operations operations = { .owner = THIS_MODULE, .open = simple_open, .write = inject };

static int __init evinject_init(void)
{
	directory = debugfs_create_dir("evinject", NULL);
	debugfs_create_file("port", 0200, directory, (void *)0, &operations);
	debugfs_create_file("qp", 0200, directory, (void *)1, &operations);
	return 0;
}

static void __exit evinject_exit(void)
{
	debugfs_remove(directory);
}

module_init(evinject_init);
module_exit(evinject_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("raise RDMA asynchronous events");
